// Payments whose outcome comes by a report: by a payer without help, a wallet that is answered PROCESSING, or a card.
import { randomUUID } from 'node:crypto'
import { type Need, newCharge, type World } from './check.ts'
import { openForm } from './forms.ts'

/** A payment whose outcome is reported. */
export const reportedPayment: Need = ['charge.paid', 'wallet.processing', 'card.approved']

/** A charge that `payByItself` then pays. */
export function chargeOfItsOwn(world: World) {
  const { 'charge.paid': payer, 'wallet.processing': wallet } = world.map.outcomes
  return newCharge(world, payer ?? wallet ?? world.outcome('card.approved'))
}

/** Announces the charge; its payment is reported later. */
export async function payByItself(
  world: World,
  charge: ReturnType<typeof newCharge>,
): Promise<void> {
  const { 'charge.paid': payer, 'wallet.processing': wallet } = world.map.outcomes
  if (payer === undefined && wallet === undefined) {
    const submit = await openForm(world, charge, world.outcome('card.approved').fields)
    return await submit()
  }
  await world.charges.announceCharges({ charges: [charge] })
  if (payer !== undefined || wallet === undefined) return
  const { chargeId } = charge
  await world.charges.payWithWallet({ chargeId, attemptId: randomUUID(), pin: wallet.pin })
}
