// Defects of back ends, each with the check of the conformance kit that must find it.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { TimestampSchema } from '@bufbuild/protobuf/wkt'
import { BillState } from '#gen/payweave/backend/v1/billers_pb.js'
import { AttemptOutcome, RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { TransferState } from '#gen/payweave/backend/v1/transfers_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { MoneySchema } from '#gen/payweave/types/v1/types_pb.js'
import type { Defect } from './conformance-harness.ts'

const { PROCESSING, PAID, REFUSED } = ChargeOutcome

/** A defect, what it is, and the check that fails because of it. */
export type PlantedDefect = {
  what: string
  foundBy: string
  says: RegExp
  defect: Defect
  /** It shows in nothing but a report that never comes. */
  isSilence?: boolean
}

/** A form that every origin may frame is served at `openFormUrl`; executions of the other id are shown as those of the first one too. */
export const defectsOf = (
  openFormUrl: string,
  alsoExecutedAs: (id: string, other: string) => void,
): readonly PlantedDefect[] => [
  {
    what: 'charges a payer twice',
    foundBy: 'charges/paid',
    says: /paid 2 times, by different attempts/,
    defect: {
      async reportCharge(report, forward) {
        if (report.outcome === PAID) await forward({ ...report, attemptId: randomUUID() })
        return await forward(report)
      },
    },
  },
  {
    what: 'reports a second, other outcome',
    foundBy: 'charges/paid',
    says: /two outcomes: (PAID, REFUSED|REFUSED, PAID)/,
    defect: {
      async reportCharge(report, forward) {
        const answer = await forward(report)
        if (report.outcome === PAID) await forward({ ...report, outcome: REFUSED })
        return answer
      },
    },
  },
  {
    what: 'reports PROCESSING after the outcome',
    foundBy: 'charges/paid',
    says: /PROCESSING after its final outcome/,
    defect: {
      async reportCharge(report, forward) {
        if (report.outcome === PROCESSING) return {}
        const answer = await forward(report)
        await forward({ ...report, outcome: PROCESSING })
        return answer
      },
    },
  },
  {
    what: 'drops a report that was not accepted',
    foundBy: 'reports/repeated',
    says: /no report PAID/,
    isSilence: true,
    defect: {
      // Its only report, so that no later one of the charge hides what was lost.
      reportCharge: (report, forward) =>
        report.outcome === PROCESSING ? Promise.resolve({}) : forward(report).catch(() => ({})),
    },
  },
  {
    what: 'does not wait for the report before',
    foundBy: 'reports/in-order',
    says: /did not wait for each other: PROCESSING, PAID/,
    defect: {
      reportCharge: (report, forward) =>
        report.outcome === PROCESSING ? forward(report).catch(() => ({})) : forward(report),
    },
  },
  {
    what: 'forgets the reference of an attempt',
    foundBy: 'wallets/repeated',
    says: /answered REFUSED, not PAID/,
    defect: {
      payWithWallet: (call, forward) => forward({ ...call, attemptId: randomUUID() }),
    },
  },
  {
    what: 'gives a reason for a payment',
    foundBy: 'wallets/refusal-reason',
    says: /PAID was answered with the reason DECLINED/,
    defect: {
      async payWithWallet(call, forward) {
        return { ...(await forward(call)), refusalReason: RefusalReason.DECLINED }
      },
    },
  },
  {
    what: 'lets a withdrawn charge be paid',
    foundBy: 'charges/withdrawn',
    says: /was PAID, not REFUSED/,
    defect: { withdrawCharges: () => Promise.resolve({}) },
  },
  {
    what: 'lets any origin frame the card form',
    foundBy: 'cards/framed-by-pages-only',
    says: /frame-ancestors is ""/,
    defect: { openCardFrame: () => Promise.resolve({ frameUrl: openFormUrl }) },
  },
  {
    what: 'takes any content for a payout that it has',
    foundBy: 'payouts/other-content',
    says: /same id with other content: answered ok, not already_exists/,
    defect: { createPayout: (call, forward) => forward(call).catch(() => ({})) },
  },
  {
    what: 'takes any content for a transfer that it has',
    foundBy: 'transfers/other-content',
    says: /same id with other content: answered ok, not already_exists/,
    defect: { createTransfer: (order, forward) => forward(order).catch(() => ({})) },
  },
  {
    what: 'returns the outcome of a bill for any content',
    foundBy: 'bills/other-content',
    says: /same id with other content: answered ok, not already_exists/,
    defect: {
      payBill: (order, forward) =>
        forward(order).catch(() => ({ outcome: { state: BillState.PAID } })),
    },
  },
  {
    what: 'pays a payout out twice',
    foundBy: 'payouts/completed',
    says: /payout .* was executed 2 times, not 1/,
    defect: {
      async createPayout(call, forward) {
        const payoutId = otherId(call.payoutId)
        alsoExecutedAs(call.payoutId, payoutId)
        await forward({ ...call, payoutId })
        return await forward(call)
      },
    },
  },
  {
    what: 'refunds twice',
    foundBy: 'refunds/completed',
    says: /refund .* was executed 2 times, not 1/,
    defect: {
      async createRefund(call, forward) {
        const refundId = otherId(call.refundId)
        alsoExecutedAs(call.refundId, refundId)
        await forward({ ...call, refundId })
        return await forward(call)
      },
    },
  },
  {
    what: 'takes a refund whose id comes again for another charge',
    foundBy: 'refunds/other-content',
    says: /same id with other content: answered ok, not already_exists/,
    defect: { createRefund: (call, forward) => forward(call).catch(() => ({})) },
  },
  {
    what: 'takes an attempt whose id comes again for another charge',
    foundBy: 'wallets/other-charge',
    says: /same id with other content: answered ok, not already_exists/,
    defect: {
      payWithWallet: (call, forward) =>
        forward(call).catch(() => ({ outcome: AttemptOutcome.PAID })),
    },
  },
  {
    what: 'lets a charge be paid after its time',
    foundBy: 'charges/expired',
    says: /was PAID, not REFUSED/,
    defect: {
      announceCharges({ charges }, forward) {
        const seconds = BigInt(Math.floor(Date.now() / 1_000) + 3_600)
        const expireTime = create(TimestampSchema, { seconds })
        return forward({ charges: charges.map((charge) => ({ ...charge, expireTime })) })
      },
    },
  },
  {
    what: 'charges a card after the charge was withdrawn',
    foundBy: 'cards/withdrawn',
    says: /the charge was reported PAID/,
    defect: { withdrawCharges: () => Promise.resolve({}) },
  },
  {
    what: 'loses a refund',
    foundBy: 'refunds/completed',
    says: /no report COMPLETED/,
    isSilence: true,
    defect: { createRefund: () => Promise.resolve({}) },
  },
  {
    what: 'transfers another currency',
    foundBy: 'transfers/completed',
    says: /executed with 12\.50 EUR, not 12\.50 USD/,
    defect: {
      createTransfer(order, forward) {
        const euros = create(MoneySchema, { currency: 'EUR', minorUnits: 1250n })
        return forward({ ...order, debitAmount: euros, creditAmount: euros })
      },
    },
  },
  {
    what: 'calls a completed transfer cancelled',
    foundBy: 'transfers/cancelled-too-late',
    says: /returned CANCELLED, not COMPLETED/,
    defect: { cancelTransfer: () => Promise.resolve({ state: TransferState.CANCELLED }) },
  },
  {
    what: 'pays a bill again when the call is repeated',
    foundBy: 'bills/paid',
    says: /repeats returned 3 provider references/,
    defect: {
      payBill: (order, forward) => forward({ ...order, billPaymentId: randomUUID() }),
    },
  },
  {
    what: 'pays a bill that it called unknown',
    foundBy: 'bills/unknown-is-final',
    says: /a later call was answered ok/,
    defect: {
      payBill: (order, forward) => forward({ ...order, billPaymentId: randomUUID() }),
      enquireBill: () => Promise.resolve({ outcome: { state: BillState.NOT_FOUND } }),
    },
  },
  {
    what: 'accepts a profile without reading its artefacts',
    foundBy: 'reviews/artefacts-read',
    says: /never read/,
    defect: {
      submitOnboarding: (profile, forward) => forward({ ...profile, artefacts: [] }),
    },
  },
  {
    what: 'accepts a profile in a currency that the institution has not',
    foundBy: 'reviews/currency',
    says: /the account is in EUR/,
    defect: {
      reportOnboarding(report, forward) {
        const { outcome } = report
        if (outcome.case !== 'completed') return forward(report)
        const value = { ...outcome.value, currency: 'EUR' }
        return forward({ ...report, outcome: { ...outcome, value } })
      },
    },
  },
  {
    what: 'rounds rates up',
    foundBy: 'rates/no-profit',
    says: /makes a profit/,
    defect: {
      async getRate(pair, forward) {
        const { rate, sourceTime } = await forward(pair)
        return { rate: (Math.ceil(Number(rate) * 10_000) / 10_000 + 0.0001).toFixed(4), sourceTime }
      },
    },
  },
]

/** Another id, the same each time. */
const otherId = (id: string) => id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))

/** The defects in as few rounds as possible: those of a round change different methods and are found by different checks. */
export function inRounds(defects: readonly PlantedDefect[]): PlantedDefect[][] {
  const rounds: PlantedDefect[][] = []
  for (const one of defects) {
    const methods = Object.keys(one.defect)
    const clashes = (other: PlantedDefect) =>
      other.foundBy === one.foundBy ||
      other.isSilence !== one.isSilence ||
      methods.some((method) => method in other.defect)
    const round = rounds.find((members) => !members.some(clashes))
    if (round === undefined) rounds.push([one])
    else round.push(one)
  }
  return rounds
}
