// Reads what has moved on the account from its balance transactions: charges, refunds, and refunds that failed.
import type { Stripe } from 'stripe'
import type { Movement, ProviderMovements } from '../../kit/domain/reconcile.ts'
import { minorAmount } from '../domain/amount.ts'

const charges: ReadonlySet<string> = new Set(['charge', 'payment'])
const refunds: ReadonlySet<string> = new Set(['refund', 'payment_refund'])
/** The money of a refund is back: it has moved nothing. */
const failedRefunds: ReadonlySet<string> = new Set(['refund_failure', 'payment_failure_refund'])
const pageSize = 100

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1_000)

/** A movement with Stripe's id of its charge or refund; `isUnfunded`: a refund that failed for lack of money, and is made again. */
type Identified = { sourceId: string; movement: Movement; isUnfunded: boolean }

/** The names of our references in metadata. */
export type MetadataNames = { attempt: string; refund: string }

/**
 * Movements from `from` to before `to`, in the currency of the payer: the transaction itself may be in that of the account.
 * Rejects with the library's error.
 */
export async function readBalance(
  stripe: Stripe,
  names: MetadataNames,
  { from, to }: { from: Date; to: Date },
): Promise<ProviderMovements> {
  const list = stripe.balanceTransactions.list({
    created: { gte: secondsOf(from), lt: secondsOf(to) },
    limit: pageSize,
    expand: ['data.source'],
  })
  const movements: Identified[] = []
  /** By Stripe's id, since a refund that failed for lack of money is made again under our reference. */
  const returned = new Map<string, Identified>()
  let foreign = 0
  for await (const transaction of list) {
    const { type } = transaction
    const isCharge = charges.has(type)
    if (!isCharge && !refunds.has(type) && !failedRefunds.has(type)) continue
    const found = movementOf(transaction, isCharge ? names.attempt : names.refund)
    if (found === undefined) foreign += 1
    else if (failedRefunds.has(type)) returned.set(found.sourceId, found)
    else movements.push(found)
  }
  const moved = movements.filter(({ sourceId }) => !returned.has(sourceId))
  const back = [...returned.values()].filter(({ isUnfunded }) => !isUnfunded)
  return {
    movements: moved.map(({ movement }) => movement),
    returned: back.map(({ movement }) => movement),
    foreign,
  }
}

function movementOf(
  { source, created }: Stripe.BalanceTransaction,
  name: string,
): Identified | undefined {
  if (source === null || typeof source === 'string') return undefined
  if (source.object !== 'charge' && source.object !== 'refund') return undefined
  const reference = source.metadata?.[name]
  if (reference === undefined) return undefined
  const currency = source.currency.toUpperCase()
  const amount = source.object === 'charge' ? source.amount_captured : source.amount
  const amountMinor = minorAmount(amount, currency)
  if (amountMinor === undefined) throw new Error(`Stripe moved a part of a unit of ${currency}`)
  const movement = { reference, currency, amountMinor, time: new Date(created * 1_000) }
  const isUnfunded = source.object === 'refund' && source.failure_reason === 'insufficient_funds'
  return { sourceId: source.id, movement, isUnfunded }
}
