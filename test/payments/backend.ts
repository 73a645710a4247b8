// What payments calls, for the tests of this folder: a back end that does what a test says, and accounts.
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import {
  AttemptOutcome,
  type Charge,
  type ChargeService,
  RefusalReason,
  type Withdrawal,
} from '#gen/payweave/backend/v1/charges_pb.js'
import type {
  CreatePayoutRequest,
  CreateRefundRequest,
  PayoutService,
} from '#gen/payweave/backend/v1/payouts_pb.js'

/** What a wallet does with an attempt: an outcome, or no answer at all. */
export type Wallet = (attemptId: string, pin: string) => Promise<AttemptOutcome> | AttemptOutcome

/** A fake back end that records the calls that it receives. */
export function newBackend() {
  const received = {
    charges: new Map<string, Charge>(),
    withdrawals: new Map<string, Withdrawal>(),
    payouts: new Map<string, CreatePayoutRequest>(),
    refunds: new Map<string, CreateRefundRequest>(),
    /** Outcomes by attempt, which an enquiry answers. */
    attempts: new Map<string, AttemptOutcome>(),
    announcements: 0,
    payoutCalls: 0,
    refundCalls: 0,
    walletCalls: 0,
    enquiries: 0,
    /** Calls that came while it was down. */
    rejected: 0,
  }
  const state = {
    isDown: false,
    /** Operations that its rail does not have. */
    lacks: new Set<'wallets' | 'cards' | 'payouts' | 'refunds'>(),
    wallet: (() => AttemptOutcome.PAID) as Wallet,
    /** Why it refuses what it refuses. */
    refusalReason: RefusalReason.UNSPECIFIED,
    /** Charges that cannot be announced. */
    refuses: (() => false) as (charge: Charge) => boolean,
    /** What an announcement waits for before it is answered. */
    announcesAfter: Promise.resolve(),
    /** What a payout waits for before it is answered. */
    paysOutAfter: Promise.resolve(),
    /** What an enquiry waits for before it is answered. */
    enquiriesAfter: Promise.resolve(),
  }
  const answer = <T extends object>(work: () => T): T => {
    if (!state.isDown) return work()
    received.rejected += 1
    throw new ConnectError('the back end is down', Code.Unavailable)
  }
  const demand = (operation: 'wallets' | 'cards' | 'payouts' | 'refunds') => {
    if (state.lacks.has(operation)) throw new ConnectError('no such method', Code.Unimplemented)
  }
  const charges: ServiceImpl<typeof ChargeService> = {
    async announceCharges({ charges: announced }) {
      await state.announcesAfter
      return answer(() => {
        received.announcements += 1
        if (announced.some((charge) => state.refuses(charge))) {
          throw new Failure('INVALID_PARAMETER', 'a charge that cannot be taken')
        }
        for (const charge of announced) received.charges.set(charge.chargeId, charge)
        return {}
      })
    },
    withdrawCharges: ({ withdrawals }) =>
      answer(() => {
        for (const withdrawal of withdrawals)
          received.withdrawals.set(withdrawal.chargeId, withdrawal)
        return {}
      }),
    async payWithWallet({ chargeId, attemptId, pin }) {
      received.walletCalls += 1
      demand('wallets')
      if (!received.charges.has(chargeId)) throw new Failure('CHARGE_NOT_FOUND', 'no such charge')
      const outcome = await state.wallet(attemptId, pin)
      received.attempts.set(attemptId, outcome)
      return { outcome, refusalReason: state.refusalReason }
    },
    async getAttempt({ attemptId }) {
      received.enquiries += 1
      await state.enquiriesAfter
      return answer(() => {
        const outcome = received.attempts.get(attemptId) ?? AttemptOutcome.UNSPECIFIED
        return { outcome, refusalReason: state.refusalReason }
      })
    },
    openCardFrame: ({ chargeId, returnUrl, language, theme }) =>
      answer(() => {
        demand('cards')
        const look = `lang=${language}&accent=${theme?.accentColor}`
        return { frameUrl: `http://cards.test/${chargeId}?back=${returnUrl}&${look}` }
      }),
  }
  const payouts: ServiceImpl<typeof PayoutService> = {
    async createPayout(request) {
      received.payoutCalls += 1
      demand('payouts')
      await state.paysOutAfter
      return answer(() => {
        received.payouts.set(request.payoutId, request)
        return {}
      })
    },
    createRefund(request) {
      received.refundCalls += 1
      return answer(() => {
        demand('refunds')
        received.refunds.set(request.refundId, request)
        return {}
      })
    },
  }
  return { received, state, charges, payouts }
}

/** Accounts that know some merchants and count the questions. */
export function newAccounts(merchants: Map<string, { projectId: string; businessName: string }>) {
  const counted = { questions: 0 }
  const getMerchant: ServiceImpl<typeof AccessService>['getMerchant'] = ({
    projectId,
    merchantId,
  }) => {
    counted.questions += 1
    const merchant = merchants.get(merchantId)
    if (merchant?.projectId !== projectId) {
      throw new Failure('MERCHANT_NOT_FOUND', 'no such merchant')
    }
    return { merchant: { merchantId, ...merchant, mobileNumber: '+12025550199' } }
  }
  /** Makes one more merchant known. */
  const add = (merchantId: string, merchant: { projectId: string; businessName: string }): void =>
    void merchants.set(merchantId, merchant)
  return { counted, getMerchant, add }
}
