// Compares a day of a provider with Payweave's settlements, also money that left or came back many days after it was settled.
import { isUuid } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import {
  type Difference,
  isWithin,
  type Movement,
  notReturned,
  type ProviderReport,
  reconcile,
  type Settled,
  type Settlements,
  settledMovements,
} from '../domain/reconcile.ts'
import { type CreditEnd, listCreditEnds } from '../store/movement-store.ts'

/** Movements near midnight can stand in another day on the other side. */
const marginMs = 86_400_000

/** What is compared. */
export type DaySources = { db: Database; provider: ProviderReport; settlements: Settlements }

/** Result of a comparison. */
export type ReconciledDay = {
  /** How many movements the provider has. */
  moved: number
  /** How many movements Payweave settled. */
  settled: number
  /** How many movements of the account are not Payweave's, on this day or a day before or after it. */
  foreign: number
  differences: Difference[]
  /** References of the payouts and refunds that have not ended. */
  open: string[]
}

/** Compares the time from `from` to before `to`. Rejects as the sources do. */
export async function reconcileDay(
  sources: DaySources,
  from: Date,
  to: Date,
): Promise<ReconciledDay> {
  const { provider, settlements } = sources
  const [first, end] = [new Date(from.getTime() - marginMs), new Date(to.getTime() + marginMs)]
  const [near, written] = await Promise.all([
    provider.read(first, end),
    settlements.written(first, end),
  ])
  const compare = (movements: readonly Movement[], settled: readonly Movement[]) =>
    reconcile(movements, settled).filter((one) => isWithin(one, from, to))
  const unmatched = compare(near.movements, settledMovements(written))
  const far = await readFar(sources, unmatched, end)
  const known = new Set(written.map(({ settlementId }) => settlementId))
  const others = far.settlements.filter(({ settlementId }) => !known.has(settlementId))
  const settled = settledMovements([...written, ...others])
  const found = compare([...near.movements, ...far.movements], settled)
  const isOpen = ({ kind, reference }: Difference) =>
    kind === 'not_reported' && far.open.has(reference)
  const ofDay = ({ time }: Movement) => time >= from && time < to
  const named = new Set(found.map(({ reference }) => reference))
  const returned = (near.returned ?? []).filter(
    (one) => ofDay(one) && isUuid(one.reference) && !named.has(one.reference),
  )
  const ofReturned = await settlements.ofReferences(returned.map(({ reference }) => reference))
  return {
    moved: near.movements.filter(ofDay).length,
    settled: settled.filter(ofDay).length,
    foreign: near.foreign,
    differences: [...found.filter((one) => !isOpen(one)), ...notReturned(returned, ofReturned)],
    open: found.filter(isOpen).map(({ reference }) => reference),
  }
}

type Far = { movements: Movement[]; settlements: Settled[]; open: ReadonlySet<string> }

/** Reads what either side wrote on other days about payouts and refunds that differ. `end` is where the read of the provider ended. */
async function readFar(
  { db, provider, settlements }: DaySources,
  differences: readonly Difference[],
  end: Date,
): Promise<Far> {
  const notSettled = referencesOf(differences, 'not_settled')
  const notReported = referencesOf(differences, 'not_reported')
  const [ofMoved, ofSettled, credits] = await Promise.all([
    settlements.ofReferences(notSettled),
    settlements.ofReferences(notReported),
    listCreditEnds(db, notReported),
  ])
  const until = new Date(lastCompletedMs(credits) + marginMs)
  const { movements } = until > end ? await provider.read(end, until) : { movements: [] }
  // The provider's returns were read to `end` alone: a later one of Payweave would leave a movement without its settlement.
  const untilEnd = ofMoved.filter(({ time }) => time < end)
  const open = credits.filter(({ state }) => state === 'pending')
  return {
    movements,
    settlements: [...untilEnd, ...ofSettled],
    open: new Set(open.map(({ reference }) => reference)),
  }
}

/** Payouts and refunds have UUIDs; anybody who uses the account may have written other references. */
function referencesOf(differences: readonly Difference[], wanted: Difference['kind']): string[] {
  const found = differences.filter(({ kind, reference }) => kind === wanted && isUuid(reference))
  return found.map(({ reference }) => reference)
}

function lastCompletedMs(credits: readonly CreditEnd[]): number {
  const completed = credits.filter(({ state }) => state === 'completed')
  return Math.max(0, ...completed.map(({ endTime }) => endTime?.getTime() ?? 0))
}
