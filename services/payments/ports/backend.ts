// The back ends that payments calls, over payweave.backend.v1, by the names of their connectors.
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { KeyRing } from '#core/identity/key-ring.ts'
import {
  type PaymentChannel,
  type PaymentState,
  type RefusalReason,
  refusalReasons,
  wordOf,
} from '#core/payment/words.ts'
import {
  ChargeChannel,
  type ChargeService,
  type GetAttemptResponse,
  type PayWithWalletResponse,
  AttemptOutcome as WireOutcome,
  WithdrawReason,
} from '#gen/payweave/backend/v1/charges_pb.js'
import type { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import type { FrameTheme } from '#gen/payweave/types/v1/types_pb.js'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import { timestampOf } from '../api/messages.ts'
import type { CallOf } from '../domain/backend-call.ts'
import type { AttemptOutcome } from '../domain/charge-report.ts'
import { cashCode } from '../domain/links.ts'

/** A charge that may be paid from now on. */
export type Announcement = {
  payerId: string
  amountMinor: bigint
  currency: string
  mobileNumberE164: string
  paymentChannel: PaymentChannel
  businessName: string
  /** Empty but for channel agent. */
  cashCode: string
  expireTime: Date
}

/** What the back end receives about a charge. INTERNAL_ERROR when the key of its cash code was retired. */
export function announcementOf(
  { subjectId: payerId, charge: { linkKeyId, ...charge } }: CallOf<'announce'>,
  keys: KeyRing,
): Announcement {
  const isAgent = charge.paymentChannel === 'agent'
  return { payerId, ...charge, cashCode: isAgent ? cashCode(keys, { payerId, linkKeyId }) : '' }
}

/** A charge that can no longer be paid. */
export type Withdrawal = { payerId: string; reason: PaymentState }

/** Money to be sent. */
export type Transfer = { id: string; amountMinor: bigint; currency: string }

/** What the back end says of an attempt. */
export type AttemptAnswer = {
  outcome: AttemptOutcome
  /** Why it was refused, if the back end says so. */
  refusalReason?: RefusalReason | undefined
}

/** The calls of payments to a connector. Every call is idempotent. */
export type Backend = {
  announce(charges: Announcement[]): Promise<void>
  withdraw(withdrawals: Withdrawal[]): Promise<void>
  payOut(payout: Transfer & { mobileNumberE164: string }): Promise<void>
  refund(refund: Transfer & { payerId: string }): Promise<void>
  /**
   * Undefined: the charge is not known there (yet), and no money moved. `unknown`: the connector takes no wallets, and will refuse
   * the attempt for ever.
   */
  payWithWallet(payerId: string, attemptId: string, pin: string): Promise<AttemptAnswer | undefined>
  /** `unknown`: the attempt is not known there and will be refused for ever. */
  enquire(attemptId: string): Promise<AttemptAnswer>
  /** Undefined: the charge is not known there (yet). Rejects as `isUnimplemented` when the connector takes no cards. */
  openCardFrame(payerId: string, frame: CardFrame): Promise<string | undefined>
}

/** How a card form is to look, and where it leads back to. */
export type CardFrame = {
  returnUrl: string
  /** A BCP 47 tag; empty: the form's default. */
  language: string
  /** Undefined: the form's own. */
  theme: FrameTheme | undefined
}

const channels = {
  agent: ChargeChannel.AGENT,
  direct_pos: ChargeChannel.DIRECT_POS,
  payment_link: ChargeChannel.PAYMENT_LINK,
} as const satisfies Record<PaymentChannel, ChargeChannel>

const reasons: Partial<Record<PaymentState, WithdrawReason>> = {
  Cancelled: WithdrawReason.CANCELLED,
  Expired: WithdrawReason.EXPIRED,
  Failed: WithdrawReason.FAILED,
}

const outcomes: Partial<Record<WireOutcome, AttemptOutcome>> = {
  [WireOutcome.PROCESSING]: 'processing',
  [WireOutcome.PAID]: 'paid',
  [WireOutcome.REFUSED]: 'refused',
}

/** The port over the back end's RPC clients. */
export function backendPort(
  charges: Client<typeof ChargeService>,
  payouts: Client<typeof PayoutService>,
): Backend {
  async function enquire(attemptId: string): Promise<AttemptAnswer> {
    const answer = await charges.getAttempt({ attemptId })
    return answer.outcome === WireOutcome.UNSPECIFIED ? { outcome: 'unknown' } : answerOf(answer)
  }
  return {
    async announce(announced) {
      if (announced.length === 0) return
      await charges.announceCharges({ charges: announced.map(chargeMessage) })
    },
    async withdraw(withdrawals) {
      if (withdrawals.length === 0) return
      await charges.withdrawCharges({
        withdrawals: withdrawals.map(({ payerId, reason }) => ({
          chargeId: payerId,
          reason: reasons[reason] ?? WithdrawReason.UNSPECIFIED,
        })),
      })
    },
    async payOut({ id, amountMinor, currency, mobileNumberE164 }) {
      const amount = { currency, minorUnits: amountMinor }
      await payouts.createPayout({ payoutId: id, amount, mobileNumber: mobileNumberE164 })
    },
    async refund({ id, amountMinor, currency, payerId }) {
      const amount = { currency, minorUnits: amountMinor }
      await payouts.createRefund({ refundId: id, chargeId: payerId, amount })
    },
    payWithWallet: (payerId, attemptId, pin) =>
      unlessUnknown(async () => {
        try {
          return answerOf(await charges.payWithWallet({ chargeId: payerId, attemptId, pin }))
        } catch (error) {
          // After this answer the back end never executes the attempt.
          if (isUnimplemented(error)) return enquire(attemptId)
          throw error
        }
      }),
    enquire,
    openCardFrame: (payerId, { theme, ...frame }) =>
      unlessUnknown(async () => {
        const { frameUrl } = await charges.openCardFrame({
          chargeId: payerId,
          ...frame,
          ...(theme && { theme }),
        })
        return frameUrl
      }),
  }
}

function answerOf(answer: GetAttemptResponse | PayWithWalletResponse): AttemptAnswer {
  // An unknown value of a later contract version does not prove that nothing was paid, so the worker enquires again.
  const outcome = outcomes[answer.outcome] ?? 'processing'
  if (outcome !== 'refused') return { outcome }
  return { outcome, refusalReason: wordOf(refusalReasons, answer.refusalReason) }
}

function chargeMessage(charge: Announcement) {
  return {
    chargeId: charge.payerId,
    amount: { currency: charge.currency, minorUnits: charge.amountMinor },
    mobileNumber: charge.mobileNumberE164,
    channel: channels[charge.paymentChannel],
    businessName: charge.businessName,
    cashCode: charge.cashCode,
    expireTime: timestampOf(charge.expireTime),
  }
}

/** Whether a connector refused a call because its rail has no such operation: this call moved nothing. */
export function isUnimplemented(error: unknown): boolean {
  if (!(error instanceof Failure)) return false
  return error.cause instanceof ConnectError && error.cause.code === Code.Unimplemented
}

async function unlessUnknown<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof Failure && error.reason === 'CHARGE_NOT_FOUND') return undefined
    throw error
  }
}

/** The connectors of a process. */
export type Connectors = {
  /** Name of the one at BACKEND_URL. It also takes rows without a connector, from before there were routes. */
  defaultName: string
  /** All of them. */
  names: readonly string[]
  /**
   * The connector of a row. Throws SERVICE_UNAVAILABLE, as a call that was not sent, for one that is not in the settings of
   * this process: only a charge or payout of which no attempt may have reached a connector can then go elsewhere.
   */
  of(name: string | null): Backend
}

/** Makes the connectors of a map by name, of which `defaultName` is one. */
export function connectorsOf(
  backends: ReadonlyMap<string, Backend>,
  defaultName: string,
): Connectors {
  return {
    defaultName,
    names: [...backends.keys()],
    of(name) {
      const backend = backends.get(name ?? defaultName)
      if (backend !== undefined) return backend
      throw new Failure('SERVICE_UNAVAILABLE', `the connector ${name} is not configured`, {
        cause: new NotSent(),
      })
    },
  }
}
