// Payments whose outcome comes by a report: by a payer without help, a wallet that is answered PROCESSING, or a card.
import { randomUUID } from 'node:crypto'
import { type CheckContext, type Need, newCharge } from './check.ts'
import { openForm } from './forms.ts'

/** A payment whose outcome is reported. */
export const reportedPayment: Need = ['charge.paid', 'wallet.processing', 'card.approved']

/** A charge that `payByItself` then pays. */
export function chargeOfItsOwn(context: CheckContext) {
  const { 'charge.paid': payer, 'wallet.processing': wallet } = context.map.outcomes
  return newCharge(context, payer ?? wallet ?? context.outcome('card.approved'))
}

/** Announces the charge; its payment is reported later. */
export async function payByItself(
  context: CheckContext,
  charge: ReturnType<typeof newCharge>,
): Promise<void> {
  const { 'charge.paid': payer, 'wallet.processing': wallet } = context.map.outcomes
  if (payer === undefined && wallet === undefined) {
    const submit = await openForm(context, charge, context.outcome('card.approved').fields)
    return await submit()
  }
  await context.charges.announceCharges({ charges: [charge] })
  if (payer !== undefined || wallet === undefined) return
  const { chargeId } = charge
  await context.charges.payWithWallet({ chargeId, attemptId: randomUUID(), pin: wallet.pin })
}
