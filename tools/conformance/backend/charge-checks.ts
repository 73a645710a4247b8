// Checks of charges that are announced, paid, refused and withdrawn, and of the reports about them.
import { AttemptOutcome, WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { demand } from '../check.ts'
import {
  announce,
  anyPayer,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandCoherent,
  demandExecuted,
  demandStatus,
  newCharge,
  newReference,
  payingWallet,
  reported,
  shownAmount,
  somePayer,
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
    async (context) => {
      const id = await announce(context, context.outcome('charge.paid'))
      const { attemptId } = await reported(context, id, 'PAID')
      demand(attemptId !== '', 'the report names no attempt')
      await demandExecuted(context, 'charge', id, 1, shownAmount(context))
    },
  ),
  charge(
    'announced-again',
    'Announcing a charge again changes nothing: it is paid once.',
    ['charge.paid'],
    async (context) => {
      const charges = [newCharge(context, context.outcome('charge.paid'))]
      const again = () => context.charges.announceCharges({ charges })
      await Promise.all([again(), again(), again()])
      const id = charges[0]?.chargeId ?? ''
      await reported(context, id, 'PAID')
      await again()
      await reported(context, id, 'PAID')
    },
  ),
  charge(
    'refused',
    'A payer whose attempt is refused is reported REFUSED, each attempt with one outcome.',
    ['charge.refused'],
    async (context) => {
      const id = await announce(context, context.outcome('charge.refused'))
      await reported(context, id, 'REFUSED')
      demand(
        context.reports.of(id).every(({ outcome }) => outcome !== 'PAID'),
        'the charge was reported PAID',
      )
    },
  ),
  charge(
    'late-money',
    'Money that arrives after a charge was withdrawn is reported PAID.',
    ['charge.late'],
    async (context) => {
      const id = await announce(context, context.outcome('charge.late'))
      await withdraw(context, id)
      await reported(context, id, 'PAID')
    },
  ),
  charge('withdrawn', 'A withdrawn charge cannot be paid.', [payingWallet], async (context) => {
    const payer = walletThatPays(context)
    const id = await announce(context, payer)
    await withdraw(context, id)
    await withdraw(context, id)
    await demandUnpayable(context, id, payer.pin)
  }),
  charge(
    'withdrawn-first',
    'A charge that is withdrawn before it is announced cannot be paid.',
    [payingWallet],
    async (context) => {
      const payer = walletThatPays(context)
      const late = newCharge(context, payer)
      await withdraw(context, late.chargeId)
      await context.charges.announceCharges({ charges: [late] })
      await demandUnpayable(context, late.chargeId, payer.pin)
    },
  ),
  charge(
    'expired',
    'A charge whose time to pay is over when it is announced cannot be paid.',
    [payingWallet],
    async (context) => {
      const payer = walletThatPays(context)
      const late = newCharge(context, payer, -1)
      await context.charges.announceCharges({ charges: [late] })
      await demandUnpayable(context, late.chargeId, payer.pin)
    },
  ),
  charge('many', 'One call announces 200 charges.', [anyPayer], async (context) => {
    const payer = somePayer(context)
    const charges = Array.from({ length: maxCharges }, () => newCharge(context, payer))
    await context.charges.announceCharges({ charges })
    const reason = WithdrawReason.CANCELLED
    const withdrawals = charges.map(({ chargeId }) => ({ chargeId, reason }))
    await context.charges.withdrawCharges({ withdrawals })
  }),
  charge(
    'malformed',
    'A charge with an amount of zero, a currency that does not exist, or a malformed UUID is refused.',
    [anyPayer],
    async (context) => {
      const good = newCharge(context, somePayer(context))
      const refused = (changed: object, what: string) =>
        demandStatus(
          context.charges.announceCharges({ charges: [{ ...good, ...changed }] }),
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
    async (context) => {
      const late = chargeOfItsOwn(context)
      context.reports.plan(late.chargeId, 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR')
      await payByItself(context, late)
      await reported(context, late.chargeId, 'PAID')
    },
  ),
  report(
    'repeated-after-time-out',
    'A report that gets no answer in time is repeated: it may or may not have arrived.',
    [reportedPayment],
    async (context) => {
      const late = chargeOfItsOwn(context)
      context.reports.plan(late.chargeId, 'no answer')
      await payByItself(context, late)
      await reported(context, late.chargeId, 'PAID')
    },
  ),
  report(
    'in-order',
    'Reports about one charge arrive in order: none before the one that precedes it was accepted.',
    [reportedPayment],
    async (context) => {
      const late = chargeOfItsOwn(context)
      context.reports.plan(late.chargeId, 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE')
      await payByItself(context, late)
      await reported(context, late.chargeId, 'PAID')
      const refused = context.reports.of(late.chargeId).slice(0, 3)
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
    async (context) => {
      const refused = chargeOfItsOwn(context)
      const refusals = Array.from({ length: 50 }, () => 'CHARGE_NOT_FOUND' as const)
      context.reports.plan(refused.chargeId, ...refusals)
      await payByItself(context, refused)
      await within(context, 'no report about the first charge', () =>
        context.reports.of(refused.chargeId).length > 0 ? true : undefined,
      )
      const other = chargeOfItsOwn(context)
      await payByItself(context, other)
      await reported(context, other.chargeId, 'PAID')
      demandCoherent(context.reports.of(refused.chargeId))
    },
  ),
]

async function withdraw(context: CheckContext, chargeId: string): Promise<void> {
  const reason = WithdrawReason.CANCELLED
  await context.charges.withdrawCharges({ withdrawals: [{ chargeId, reason }] })
}

async function demandUnpayable(
  context: CheckContext,
  chargeId: string,
  pin: string,
): Promise<void> {
  const attemptId = newReference(context)
  const { outcome } = await context.charges.payWithWallet({ chargeId, attemptId, pin })
  demand(
    outcome === AttemptOutcome.REFUSED,
    `the attempt was ${AttemptOutcome[outcome] ?? outcome}, not REFUSED`,
  )
  await demandExecuted(context, 'charge', chargeId, 0, shownAmount(context))
}
