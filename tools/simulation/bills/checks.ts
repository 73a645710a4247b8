// What must hold after every run of the bills simulation.
import { BillPaymentState } from '#gen/payweave/billing/v1/billing_pb.js'
import type { Server } from '../postgres/server.ts'
import { type Change, changesText } from '../postgres/simulation-store.ts'
import type { Execution } from './biller.ts'
import type { Clients, Funding, Order } from './clients.ts'

/** What a run has left. */
export type Left = Pick<Clients, 'orders' | 'fundings'> & {
  executions: readonly Execution[]
  /** What the ledger's own check has found. */
  findings: readonly string[]
  unexpected: readonly string[]
  hasEnded: boolean
}

type BillRow = {
  bill_payment_id: string
  customer_reference: string
  transaction_id: string
  state: string
  amount_minor: bigint
}

type HoldRow = { hold_id: string; state: string; amount_minor: bigint }

const floatsText = `
  select holder_id as "projectId", posted_minor as "postedMinor" from accounts.ledger_account where holder = 'float'`

/** The rules that the run broke, in words; none when all hold. */
export async function findBroken(server: Server, left: Left): Promise<string[]> {
  const bills = await server.read<BillRow>('select * from billing.bill_payment')
  const holds = await server.read<HoldRow>('select * from accounts.hold')
  const floats = await server.read<{ projectId: string; postedMinor: bigint }>(floatsText)
  const changes = await server.read<Change>(changesText)
  const byReference = Map.groupBy(left.executions, (one) => one.customerReference)
  const billOf = new Map(bills.map((bill) => [bill.customer_reference, bill]))
  return [
    ...(left.hasEnded ? [] : ['work is left long after the last fault']),
    ...left.unexpected,
    ...left.findings,
    ...left.executions.flatMap(brokenExecution),
    ...left.orders.flatMap((order) => {
      const { customerReference } = order
      const executions = byReference.get(customerReference) ?? []
      return brokenOrder(order, executions, billOf.get(customerReference))
    }),
    ...left.fundings.flatMap(brokenFunding),
    ...brokenHolds(holds, bills),
    ...brokenChanges(changes),
    ...floats.flatMap((float) => brokenFloat(float, left)),
  ]
}

/** The money of a bill that the biller pays is held. */
function brokenExecution({ billPaymentId, amountMinor, hold }: Execution): string[] {
  if (hold?.state === 'open' && hold.amountMinor === amountMinor) return []
  return [
    `${billPaymentId} was paid ${amountMinor} with a hold ${hold?.state} of ${hold?.amountMinor}`,
  ]
}

/** A bill is paid at most once, never when it failed, and the client gets one payment and one end, which stay. */
function brokenOrder(
  { customerReference, answers }: Order,
  executions: readonly Execution[],
  bill: BillRow | undefined,
): string[] {
  const state = bill?.state ?? 'not there'
  const broken: string[] = []
  if (executions.length !== (state === 'succeeded' ? 1 : 0)) {
    broken.push(`bill ${customerReference} is ${state} and was paid ${executions.length} times`)
  }
  const shown = new Set(answers.map(({ transactionId }) => transactionId))
  if ([...shown].some((id) => id !== bill?.transaction_id)) {
    broken.push(
      `bill ${customerReference} was shown as ${[...shown].join(', ')}: ${bill?.transaction_id}`,
    )
  }
  const ends = answers
    .filter((one) => one.state !== BillPaymentState.PENDING)
    .map((one) => `${BillPaymentState[one.state]} ${one.receiptId}${one.failureCode}`)
  const isShown = ends.every((end) => end === ends[0] && end.startsWith(endWords[state] ?? '-'))
  if (!isShown)
    broken.push(`bill ${customerReference} is ${state} and was shown as ${ends.join(', ')}`)
  const isOwn = answers.every((one) => one.customerReference === customerReference)
  if (!isOwn) broken.push(`the client of bill ${customerReference} was shown another one`)
  return broken
}

const endWords: Record<string, string> = { succeeded: 'SUCCESS', failed: 'FAILED' }

/** A transfer is posted once, at the time that its answers name. */
function brokenFunding({ transferId, answers }: Funding): string[] {
  return new Set(answers).size === 1 ? [] : [`${transferId} was posted at ${answers.join(', ')}`]
}

/** Holds of bills that were paid are posted, all others are released. */
function brokenHolds(holds: readonly HoldRow[], bills: readonly BillRow[]): string[] {
  const paid = new Set(bills.filter(isPaid).map((bill) => bill.bill_payment_id))
  return holds.flatMap(({ hold_id: id, state }) => {
    const right = paid.has(id) ? 'posted' : 'voided'
    return state === right ? [] : [`the hold of ${id} is ${state}, not ${right}`]
  })
}

const isPaid = ({ state }: BillRow): boolean => state === 'succeeded'

type Changed = {
  hold_id?: string
  state?: string
  posted_minor?: number
  held_minor?: number
  floor_minor?: number
}

/** A hold ends once, and no account is ever below its limit. */
function brokenChanges(changes: readonly Change[]): string[] {
  return changes.flatMap(({ relation, before, after, by, statement }) => {
    const [old, now] = [before as Changed | null, after as Changed | null]
    if (now === null) return [`${statement} of ${by} deleted a row of ${relation}`]
    if (relation === 'hold') {
      const isSound = old === null ? now.state === 'open' : old.state === 'open'
      return isSound ? [] : [`${statement} of ${by} changed hold ${now.hold_id}: ${old?.state}`]
    }
    const { posted_minor: posted = 0, held_minor: held = 0, floor_minor: floor = 0 } = now
    return posted - held >= floor && held >= 0
      ? []
      : [`${statement} of ${by} left ${posted} with ${held} held`]
  })
}

/** A float has what it got, less the bills that were paid. */
function brokenFloat(
  { projectId, postedMinor }: { projectId: string; postedMinor: bigint },
  { orders, fundings, executions }: Left,
): string[] {
  const references = new Set(
    orders.filter((one) => one.projectId === projectId).map((one) => one.customerReference),
  )
  const got = sumOf(fundings.filter((one) => one.projectId === projectId))
  const paid = sumOf(executions.filter((one) => references.has(one.customerReference)))
  return postedMinor === got - paid ? [] : [`a float has ${postedMinor}, not ${got} less ${paid}`]
}

const sumOf = (items: readonly { amountMinor: bigint }[]): bigint =>
  items.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
