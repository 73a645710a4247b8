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
  demandConflict,
  demandExecuted,
  demandStatus,
  payingWallet,
  reported,
  shownAmount,
  type World,
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
    (world) => demandOutcome(world, world.outcome('wallet.paid'), PAID),
  ),
  wallet(
    'refused',
    'A wallet that refuses is answered REFUSED, and an enquiry says the same.',
    ['wallet.refused'],
    (world) => demandOutcome(world, world.outcome('wallet.refused'), REFUSED),
  ),
  wallet(
    'refusal-reason',
    'Only a refusal has a reason, and an enquiry gives the same one.',
    ['wallet.paid', 'wallet.refused'],
    async (world) => {
      for (const name of ['wallet.paid', 'wallet.refused'] as const) {
        const { attemptId, outcome, refusalReason } = await attempt(world, world.outcome(name))
        const reason = RefusalReason[refusalReason] ?? String(refusalReason)
        const isRight = outcome === REFUSED || refusalReason === RefusalReason.UNSPECIFIED
        demand(isRight, `${nameOf(outcome)} was answered with the reason ${reason}`)
        const enquired = await world.charges.getAttempt({ attemptId })
        const again = RefusalReason[enquired.refusalReason] ?? String(enquired.refusalReason)
        demand(again === reason, `the reason was ${reason}, and ${again} in the enquiry`)
      }
    },
  ),
  wallet(
    'processing',
    'An attempt that is answered PROCESSING is reported with its outcome, and an enquiry then says the same.',
    ['wallet.processing'],
    async (world) => {
      const { chargeId, attemptId, outcome } = await attempt(
        world,
        world.outcome('wallet.processing'),
      )
      demandIs(outcome, PROCESSING, 'the attempt')
      const found = await reported(world, chargeId, 'PAID')
      demand(
        found.attemptId === attemptId,
        `the report names attempt ${found.attemptId}, not ${attemptId}`,
      )
      demandIs((await world.charges.getAttempt({ attemptId })).outcome, PAID, 'the enquiry')
    },
  ),
  wallet(
    'rejected',
    'An attempt that is answered PROCESSING and then refused is reported so; an enquiry gives the same reason.',
    ['wallet.rejected'],
    async (world) => {
      const { chargeId, attemptId, outcome } = await attempt(
        world,
        world.outcome('wallet.rejected'),
      )
      demandIs(outcome, PROCESSING, 'the attempt')
      const found = await reported(world, chargeId, 'REFUSED')
      demand(
        found.attemptId === attemptId,
        `the report names attempt ${found.attemptId}, not ${attemptId}`,
      )
      const enquired = await world.charges.getAttempt({ attemptId })
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
    async (world) => {
      const payer = world.outcome('wallet.processing')
      const { chargeId, attemptId, outcome } = await attempt(world, payer)
      demandIs(outcome, PROCESSING, 'the attempt')
      const withdrawals = [{ chargeId, reason: WithdrawReason.CANCELLED }]
      await world.charges.withdrawCharges({ withdrawals })
      const known = await settled(world, attemptId)
      demand(known === PAID || known === REFUSED, `the enquiry was answered ${nameOf(known)}`)
      await reported(world, chargeId, nameOf(known))
    },
  ),
  wallet(
    'repeated',
    'An attempt is executed once: repeats, also concurrent ones, return its outcome.',
    [payingWallet],
    async (world) => {
      const payer = walletThatPays(world)
      const chargeId = await announce(world, payer)
      const call = { chargeId, attemptId: randomUUID(), pin: payer.pin }
      const answers = await Promise.all(Array.from({ length: 4 }, () => pay(world, call)))
      answers.push(await pay(world, call))
      for (const { outcome } of answers) {
        demand(
          outcome === PAID || outcome === PROCESSING,
          `a repeat was answered ${nameOf(outcome)}, not PAID`,
        )
      }
      demandIs(await settled(world, call.attemptId), PAID, 'the enquiry')
      await demandExecuted(world, 'charge', chargeId, 1, shownAmount(world))
    },
  ),
  wallet(
    'other-charge',
    'An attempt whose id comes again with another charge is refused, and that charge is not paid.',
    [payingWallet],
    async (world) => {
      const payer = walletThatPays(world)
      const { attemptId } = await attempt(world, payer)
      demandIs(await settled(world, attemptId), PAID, 'the first charge')
      const chargeId = await announce(world, payer)
      const call = { chargeId, attemptId, pin: payer.pin }
      await demandConflict(world.charges.payWithWallet(call))
      await demandExecuted(world, 'charge', chargeId, 0, shownAmount(world))
    },
  ),
  wallet('paid-once', 'A paid charge cannot be paid again.', [payingWallet], async (world) => {
    const payer = walletThatPays(world)
    const { chargeId, attemptId } = await attempt(world, payer)
    demandIs(await settled(world, attemptId), PAID, 'the first attempt')
    const second = { chargeId, attemptId: randomUUID(), pin: payer.pin }
    demandIs((await world.charges.payWithWallet(second)).outcome, REFUSED, 'a second attempt')
  }),
  wallet(
    'unknown-is-final',
    'An attempt that an enquiry has called unknown is never executed.',
    [payingWallet],
    async (world) => {
      const payer = walletThatPays(world)
      const chargeId = await announce(world, payer)
      const attemptId = randomUUID()
      demandIs((await world.charges.getAttempt({ attemptId })).outcome, UNSPECIFIED, 'the enquiry')
      const { outcome } = await world.charges.payWithWallet({ chargeId, attemptId, pin: payer.pin })
      demandIs(outcome, REFUSED, 'the attempt')
      demandIs(
        (await world.charges.getAttempt({ attemptId })).outcome,
        UNSPECIFIED,
        'the next enquiry',
      )
    },
  ),
  wallet(
    'timed-out',
    'After a call that was given up, enquiry and repeat agree on what became of the attempt.',
    [payingWallet],
    async (world) => {
      const payer = walletThatPays(world)
      const chargeId = await announce(world, payer)
      const call = { chargeId, attemptId: randomUUID(), pin: payer.pin }
      const givenUp = new AbortController()
      const answer = world.charges.payWithWallet(call, { signal: givenUp.signal })
      setImmediate(() => givenUp.abort())
      await answer.catch(() => undefined)
      const known = await settled(world, call.attemptId)
      const { outcome } = await world.charges.payWithWallet(call)
      demandIs(outcome, known === PAID ? PAID : REFUSED, `the repeat, after ${nameOf(known)},`)
      demandIs((await world.charges.getAttempt(call)).outcome, known, 'the last enquiry')
    },
  ),
  wallet(
    'unknown-charge',
    'An attempt on a charge that was never announced is refused with NOT_FOUND.',
    [payingWallet],
    async (world) => {
      const { pin } = walletThatPays(world)
      const call = { chargeId: randomUUID(), attemptId: randomUUID(), pin }
      await demandStatus(world.charges.payWithWallet(call), 'not_found', 'an unknown charge')
    },
  ),
]

async function attempt(world: World, payer: Payer) {
  const chargeId = await announce(world, payer)
  const attemptId = randomUUID()
  const call = { chargeId, attemptId, pin: payer.pin }
  const { outcome, refusalReason } = await world.charges.payWithWallet(call)
  return { chargeId, attemptId, outcome, refusalReason }
}

async function demandOutcome(world: World, payer: Payer, wanted: AttemptOutcome): Promise<void> {
  const { attemptId, outcome } = await attempt(world, payer)
  demandIs(outcome, wanted, 'the attempt')
  demandIs((await world.charges.getAttempt({ attemptId })).outcome, wanted, 'the enquiry')
}

/** Pays; a call that may not have been executed is repeated, as Payweave repeats it. */
function pay(world: World, call: { chargeId: string; attemptId: string; pin: string }) {
  return within(world, `no answer to attempt ${call.attemptId}`, async () => {
    try {
      return await world.charges.payWithWallet(call)
    } catch (error) {
      if (error instanceof Failure && isPassing(error)) return undefined
      throw error
    }
  })
}

const isPassing = ({ reason }: Failure) => reason === 'TIMEOUT' || reason === 'SERVICE_UNAVAILABLE'

/** Enquires until the attempt is no longer in progress. */
function settled(world: World, attemptId: string): Promise<AttemptOutcome> {
  return within(world, `attempt ${attemptId} has no outcome`, async () => {
    const { outcome } = await world.charges.getAttempt({ attemptId })
    return outcome === PROCESSING ? undefined : outcome
  })
}

/** A charge that is paid, by wallet if the back end has one that pays, else by card if it takes cards only. */
export async function paidCharge(world: World): Promise<string> {
  const { 'wallet.paid': atOnce, 'wallet.processing': later } = world.map.outcomes
  if (world.map.outcomes.unsupported?.groups.includes('wallets') === true)
    return await chargePaidByCard(world)
  if (atOnce === undefined && later === undefined) {
    const id = await announce(world, world.outcome('charge.paid'))
    await reported(world, id, 'PAID')
    return id
  }
  const { chargeId, attemptId, outcome } = await attempt(world, walletThatPays(world))
  const known = outcome === PROCESSING ? await settled(world, attemptId) : outcome
  demandIs(known, PAID, 'the charge to refund')
  return chargeId
}

const nameOf = (outcome: AttemptOutcome) => AttemptOutcome[outcome] ?? String(outcome)

function demandIs(outcome: AttemptOutcome, wanted: AttemptOutcome, what: string): void {
  demand(outcome === wanted, `${what} was answered ${nameOf(outcome)}, not ${nameOf(wanted)}`)
}
