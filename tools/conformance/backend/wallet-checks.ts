// Checks of attempts to pay with a wallet: outcomes, repeats, enquiries, time-outs.
import { randomUUID } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import {
  AttemptOutcome,
  RefusalReason,
  WithdrawReason,
} from '#gen/payweave/backend/v1/charges_pb.js'
import { demand } from '../check.ts'
import {
  announce,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandConflict,
  demandExecuted,
  demandStatus,
  payingWallet,
  reported,
  shownAmount,
  walletThatPays,
  within,
} from './check.ts'
import { chargePaidByCard } from './forms.ts'

const wallet = backendGroup('wallets')
const { PAID, REFUSED, PROCESSING, UNSPECIFIED } = AttemptOutcome
type Payer = { mobile_number: string; pin: string }

export const walletChecks: readonly BackendCheck[] = [
  wallet(
    'paid',
    'A wallet that pays is answered PAID, and an enquiry says the same.',
    ['wallet.paid'],
    (context) => demandOutcome(context, context.outcome('wallet.paid'), PAID),
  ),
  wallet(
    'refused',
    'A wallet that refuses is answered REFUSED, and an enquiry says the same.',
    ['wallet.refused'],
    (context) => demandOutcome(context, context.outcome('wallet.refused'), REFUSED),
  ),
  wallet(
    'refusal-reason',
    'Only a refusal has a reason, and an enquiry gives the same one.',
    ['wallet.paid', 'wallet.refused'],
    async (context) => {
      for (const name of ['wallet.paid', 'wallet.refused'] as const) {
        const { attemptId, outcome, refusalReason } = await attempt(context, context.outcome(name))
        const reason = RefusalReason[refusalReason] ?? String(refusalReason)
        const isRight = outcome === REFUSED || refusalReason === RefusalReason.UNSPECIFIED
        demand(isRight, `${nameOf(outcome)} was answered with the reason ${reason}`)
        const enquired = await context.charges.getAttempt({ attemptId })
        const again = RefusalReason[enquired.refusalReason] ?? String(enquired.refusalReason)
        demand(again === reason, `the reason was ${reason}, and ${again} in the enquiry`)
      }
    },
  ),
  wallet(
    'processing',
    'An attempt that is answered PROCESSING is reported with its outcome, and an enquiry then says the same.',
    ['wallet.processing'],
    async (context) => {
      const { chargeId, attemptId, outcome } = await attempt(
        context,
        context.outcome('wallet.processing'),
      )
      demandIs(outcome, PROCESSING, 'the attempt')
      const found = await reported(context, chargeId, 'PAID')
      demand(
        found.attemptId === attemptId,
        `the report names attempt ${found.attemptId}, not ${attemptId}`,
      )
      demandIs((await context.charges.getAttempt({ attemptId })).outcome, PAID, 'the enquiry')
    },
  ),
  wallet(
    'rejected',
    'An attempt that is answered PROCESSING and then refused is reported so; an enquiry gives the same reason.',
    ['wallet.rejected'],
    async (context) => {
      const { chargeId, attemptId, outcome } = await attempt(
        context,
        context.outcome('wallet.rejected'),
      )
      demandIs(outcome, PROCESSING, 'the attempt')
      const found = await reported(context, chargeId, 'REFUSED')
      demand(
        found.attemptId === attemptId,
        `the report names attempt ${found.attemptId}, not ${attemptId}`,
      )
      const enquired = await context.charges.getAttempt({ attemptId })
      demandIs(enquired.outcome, REFUSED, 'the enquiry')
      const reason = RefusalReason[enquired.refusalReason]
      demand(
        found.refusalReason === reason,
        `the reason was ${found.refusalReason} in the report, and ${reason} in the enquiry`,
      )
    },
  ),
  wallet(
    'withdrawn-meanwhile',
    'An attempt that is in progress when its charge is withdrawn is reported with its outcome, PAID or REFUSED.',
    ['wallet.processing'],
    async (context) => {
      const payer = context.outcome('wallet.processing')
      const { chargeId, attemptId, outcome } = await attempt(context, payer)
      demandIs(outcome, PROCESSING, 'the attempt')
      const withdrawals = [{ chargeId, reason: WithdrawReason.CANCELLED }]
      await context.charges.withdrawCharges({ withdrawals })
      const known = await settled(context, attemptId)
      demand(known === PAID || known === REFUSED, `the enquiry was answered ${nameOf(known)}`)
      await reported(context, chargeId, nameOf(known))
    },
  ),
  wallet(
    'repeated',
    'An attempt is executed once: repeats, also concurrent ones, return its outcome.',
    [payingWallet],
    async (context) => {
      const payer = walletThatPays(context)
      const chargeId = await announce(context, payer)
      const call = { chargeId, attemptId: randomUUID(), pin: payer.pin }
      const answers = await Promise.all(Array.from({ length: 4 }, () => pay(context, call)))
      answers.push(await pay(context, call))
      for (const { outcome } of answers) {
        demand(
          outcome === PAID || outcome === PROCESSING,
          `a repeat was answered ${nameOf(outcome)}, not PAID`,
        )
      }
      demandIs(await settled(context, call.attemptId), PAID, 'the enquiry')
      await demandExecuted(context, 'charge', chargeId, 1, shownAmount(context))
    },
  ),
  wallet(
    'other-charge',
    'An attempt whose id comes again with another charge is refused, and that charge is not paid.',
    [payingWallet],
    async (context) => {
      const payer = walletThatPays(context)
      const { attemptId } = await attempt(context, payer)
      demandIs(await settled(context, attemptId), PAID, 'the first charge')
      const chargeId = await announce(context, payer)
      const call = { chargeId, attemptId, pin: payer.pin }
      await demandConflict(context.charges.payWithWallet(call))
      await demandExecuted(context, 'charge', chargeId, 0, shownAmount(context))
    },
  ),
  wallet('paid-once', 'A paid charge cannot be paid again.', [payingWallet], async (context) => {
    const payer = walletThatPays(context)
    const { chargeId, attemptId } = await attempt(context, payer)
    demandIs(await settled(context, attemptId), PAID, 'the first attempt')
    const second = { chargeId, attemptId: randomUUID(), pin: payer.pin }
    demandIs((await context.charges.payWithWallet(second)).outcome, REFUSED, 'a second attempt')
  }),
  wallet(
    'unknown-is-final',
    'An attempt that an enquiry has called unknown is never executed.',
    [payingWallet],
    async (context) => {
      const payer = walletThatPays(context)
      const chargeId = await announce(context, payer)
      const attemptId = randomUUID()
      demandIs(
        (await context.charges.getAttempt({ attemptId })).outcome,
        UNSPECIFIED,
        'the enquiry',
      )
      const { outcome } = await context.charges.payWithWallet({
        chargeId,
        attemptId,
        pin: payer.pin,
      })
      demandIs(outcome, REFUSED, 'the attempt')
      demandIs(
        (await context.charges.getAttempt({ attemptId })).outcome,
        UNSPECIFIED,
        'the next enquiry',
      )
    },
  ),
  wallet(
    'timed-out',
    'After a call that was given up, enquiry and repeat agree on the outcome of the attempt.',
    [payingWallet],
    async (context) => {
      const payer = walletThatPays(context)
      const chargeId = await announce(context, payer)
      const call = { chargeId, attemptId: randomUUID(), pin: payer.pin }
      const givenUp = new AbortController()
      const answer = context.charges.payWithWallet(call, { signal: givenUp.signal })
      setImmediate(() => givenUp.abort())
      await answer.catch(() => undefined)
      const known = await settled(context, call.attemptId)
      const { outcome } = await context.charges.payWithWallet(call)
      demandIs(outcome, known === PAID ? PAID : REFUSED, `the repeat, after ${nameOf(known)},`)
      demandIs((await context.charges.getAttempt(call)).outcome, known, 'the last enquiry')
    },
  ),
  wallet(
    'unknown-charge',
    'An attempt on a charge that was never announced is refused with NOT_FOUND.',
    [payingWallet],
    async (context) => {
      const { pin } = walletThatPays(context)
      const call = { chargeId: randomUUID(), attemptId: randomUUID(), pin }
      await demandStatus(context.charges.payWithWallet(call), 'not_found', 'an unknown charge')
    },
  ),
]

async function attempt(context: CheckContext, payer: Payer) {
  const chargeId = await announce(context, payer)
  const attemptId = randomUUID()
  const call = { chargeId, attemptId, pin: payer.pin }
  const { outcome, refusalReason } = await context.charges.payWithWallet(call)
  return { chargeId, attemptId, outcome, refusalReason }
}

async function demandOutcome(
  context: CheckContext,
  payer: Payer,
  wanted: AttemptOutcome,
): Promise<void> {
  const { attemptId, outcome } = await attempt(context, payer)
  demandIs(outcome, wanted, 'the attempt')
  demandIs((await context.charges.getAttempt({ attemptId })).outcome, wanted, 'the enquiry')
}

/** Pays; a call that may not have been executed is repeated, as Payweave repeats it. */
function pay(context: CheckContext, call: { chargeId: string; attemptId: string; pin: string }) {
  return within(context, `no answer to attempt ${call.attemptId}`, async () => {
    try {
      return await context.charges.payWithWallet(call)
    } catch (error) {
      if (error instanceof Failure && isPassing(error)) return undefined
      throw error
    }
  })
}

const isPassing = ({ reason }: Failure) => reason === 'TIMEOUT' || reason === 'SERVICE_UNAVAILABLE'

/** Enquires until the attempt is no longer in progress. */
function settled(context: CheckContext, attemptId: string): Promise<AttemptOutcome> {
  return within(context, `attempt ${attemptId} has no outcome`, async () => {
    const { outcome } = await context.charges.getAttempt({ attemptId })
    return outcome === PROCESSING ? undefined : outcome
  })
}

/** A charge that is paid, by wallet if the back end has one that pays, else by card if it takes cards only. */
export async function paidCharge(context: CheckContext): Promise<string> {
  const { 'wallet.paid': atOnce, 'wallet.processing': later } = context.map.outcomes
  if (context.map.outcomes.unsupported?.groups.includes('wallets') === true)
    return await chargePaidByCard(context)
  if (atOnce === undefined && later === undefined) {
    const id = await announce(context, context.outcome('charge.paid'))
    await reported(context, id, 'PAID')
    return id
  }
  const { chargeId, attemptId, outcome } = await attempt(context, walletThatPays(context))
  const known = outcome === PROCESSING ? await settled(context, attemptId) : outcome
  demandIs(known, PAID, 'the charge to refund')
  return chargeId
}

const nameOf = (outcome: AttemptOutcome) => AttemptOutcome[outcome] ?? String(outcome)

function demandIs(outcome: AttemptOutcome, wanted: AttemptOutcome, what: string): void {
  demand(outcome === wanted, `${what} was answered ${nameOf(outcome)}, not ${nameOf(wanted)}`)
}
