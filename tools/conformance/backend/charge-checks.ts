// Checks of charges that are announced, paid, refused and withdrawn, and of the reports about them.
import { AttemptOutcome, WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { demand } from '../check.ts'
import {
  announce,
  anyPayer,
  type BackendCheck,
  backendGroup,
  demandCoherent,
  demandExecuted,
  demandStatus,
  newCharge,
  newReference,
  payingWallet,
  reported,
  shownAmount,
  somePayer,
  type World,
  walletThatPays,
  within,
} from './check.ts'
import { chargeOfItsOwn, payByItself, reportedPayment } from './reported-payment.ts'

const charge = backendGroup('charges')
const report = backendGroup('reports')
const maxCharges = 200

export const chargeChecks: readonly BackendCheck[] = [
  charge(
    'paid',
    'A payer who pays is reported PAID, by one attempt.',
    ['charge.paid'],
    async (world) => {
      const id = await announce(world, world.outcome('charge.paid'))
      const { attemptId } = await reported(world, id, 'PAID')
      demand(attemptId !== '', 'the report names no attempt')
      await demandExecuted(world, 'charge', id, 1, shownAmount(world))
    },
  ),
  charge(
    'announced-again',
    'Announcing a charge again changes nothing: it is paid once.',
    ['charge.paid'],
    async (world) => {
      const charges = [newCharge(world, world.outcome('charge.paid'))]
      const again = () => world.charges.announceCharges({ charges })
      await Promise.all([again(), again(), again()])
      const id = charges[0]?.chargeId ?? ''
      await reported(world, id, 'PAID')
      await again()
      await reported(world, id, 'PAID')
    },
  ),
  charge(
    'refused',
    'A payer whose attempt is refused is reported REFUSED, each attempt with one outcome.',
    ['charge.refused'],
    async (world) => {
      const id = await announce(world, world.outcome('charge.refused'))
      await reported(world, id, 'REFUSED')
      demand(
        world.reports.of(id).every(({ outcome }) => outcome !== 'PAID'),
        'the charge was reported PAID',
      )
    },
  ),
  charge(
    'late-money',
    'Money that arrives after a charge was withdrawn is reported PAID.',
    ['charge.late'],
    async (world) => {
      const id = await announce(world, world.outcome('charge.late'))
      await withdraw(world, id)
      await reported(world, id, 'PAID')
    },
  ),
  charge('withdrawn', 'A withdrawn charge cannot be paid.', [payingWallet], async (world) => {
    const payer = walletThatPays(world)
    const id = await announce(world, payer)
    await withdraw(world, id)
    await withdraw(world, id)
    await demandUnpayable(world, id, payer.pin)
  }),
  charge(
    'withdrawn-first',
    'A charge that is withdrawn before it is announced cannot be paid.',
    [payingWallet],
    async (world) => {
      const payer = walletThatPays(world)
      const late = newCharge(world, payer)
      await withdraw(world, late.chargeId)
      await world.charges.announceCharges({ charges: [late] })
      await demandUnpayable(world, late.chargeId, payer.pin)
    },
  ),
  charge(
    'expired',
    'A charge whose time to pay is over when it is announced cannot be paid.',
    [payingWallet],
    async (world) => {
      const payer = walletThatPays(world)
      const late = newCharge(world, payer, -1)
      await world.charges.announceCharges({ charges: [late] })
      await demandUnpayable(world, late.chargeId, payer.pin)
    },
  ),
  charge('many', 'One call announces 200 charges.', [anyPayer], async (world) => {
    const payer = somePayer(world)
    const charges = Array.from({ length: maxCharges }, () => newCharge(world, payer))
    await world.charges.announceCharges({ charges })
    const reason = WithdrawReason.CANCELLED
    const withdrawals = charges.map(({ chargeId }) => ({ chargeId, reason }))
    await world.charges.withdrawCharges({ withdrawals })
  }),
  charge(
    'malformed',
    'A charge with an amount of zero, a currency that does not exist, or a malformed UUID is refused.',
    [anyPayer],
    async (world) => {
      const good = newCharge(world, somePayer(world))
      const refused = (changed: object, what: string) =>
        demandStatus(
          world.charges.announceCharges({ charges: [{ ...good, ...changed }] }),
          'invalid_argument',
          what,
        )
      await refused({ amount: { ...good.amount, minorUnits: 0n } }, 'an amount of zero')
      await refused({ amount: { ...good.amount, currency: 'ZZZ' } }, 'the currency ZZZ')
      await refused({ chargeId: 'not-a-uuid' }, 'a malformed UUID')
    },
  ),
]

export const reportChecks: readonly BackendCheck[] = [
  report(
    'repeated',
    'A report that Payweave cannot take now is repeated until it is accepted.',
    [reportedPayment],
    async (world) => {
      const late = chargeOfItsOwn(world)
      world.reports.plan(late.chargeId, 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR')
      await payByItself(world, late)
      await reported(world, late.chargeId, 'PAID')
    },
  ),
  report(
    'repeated-after-time-out',
    'A report that gets no answer in time is repeated: it may or may not have arrived.',
    [reportedPayment],
    async (world) => {
      const late = chargeOfItsOwn(world)
      world.reports.plan(late.chargeId, 'no answer')
      await payByItself(world, late)
      await reported(world, late.chargeId, 'PAID')
    },
  ),
  report(
    'in-order',
    'Reports about one charge arrive in order: none before the one that precedes it was accepted.',
    [reportedPayment],
    async (world) => {
      const late = chargeOfItsOwn(world)
      world.reports.plan(late.chargeId, 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE')
      await payByItself(world, late)
      await reported(world, late.chargeId, 'PAID')
      const refused = world.reports.of(late.chargeId).slice(0, 3)
      const distinct = new Set(refused.map(({ outcome }) => outcome))
      demand(
        distinct.size === 1,
        `reports did not wait for each other: ${[...distinct].join(', ')}`,
      )
    },
  ),
  report(
    'refused-alone',
    'A report that Payweave refuses permanently delays no report about another charge.',
    [reportedPayment],
    async (world) => {
      const refused = chargeOfItsOwn(world)
      const refusals = Array.from({ length: 50 }, () => 'CHARGE_NOT_FOUND' as const)
      world.reports.plan(refused.chargeId, ...refusals)
      await payByItself(world, refused)
      await within(world, 'no report about the first charge', () =>
        world.reports.of(refused.chargeId).length > 0 ? true : undefined,
      )
      const other = chargeOfItsOwn(world)
      await payByItself(world, other)
      await reported(world, other.chargeId, 'PAID')
      demandCoherent(world.reports.of(refused.chargeId))
    },
  ),
]

async function withdraw(world: World, chargeId: string): Promise<void> {
  const reason = WithdrawReason.CANCELLED
  await world.charges.withdrawCharges({ withdrawals: [{ chargeId, reason }] })
}

async function demandUnpayable(world: World, chargeId: string, pin: string): Promise<void> {
  const attemptId = newReference(world)
  const { outcome } = await world.charges.payWithWallet({ chargeId, attemptId, pin })
  demand(
    outcome === AttemptOutcome.REFUSED,
    `the attempt was ${AttemptOutcome[outcome] ?? outcome}, not REFUSED`,
  )
  await demandExecuted(world, 'charge', chargeId, 0, shownAmount(world))
}
