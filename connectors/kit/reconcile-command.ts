// Reconciles a day with Payweave's settlements: `node connectors/stripe/main.ts reconcile 2026-11-25`, run where the connector runs.
import { formatAmount } from '#core/money/money.ts'
import type { Database } from '#platform/db/db.ts'
import type { Difference, Movement, ProviderReport, Settlements } from './domain/reconcile.ts'
import { reconcileDay } from './operations/reconcile-day.ts'
import { listOwnMovements } from './store/movement-store.ts'

const dayMs = 86_400_000
/** Payments lists a settlement a minute after it was written. The clocks of two machines may differ by almost another minute. */
const listedAfterMs = 120_000

/** How the command is used. */
const reconcileUsage = `reconcile 2026-11-25   compares a day (UTC) of the provider with Payweave's settlements; PAYWEAVE_TOKEN is a bearer for ListSettlements
`

export type ReconcileOptions = {
  db: Database
  /** Undefined where the provider has no report: then the records of the connector are compared. */
  report: ProviderReport | undefined
  settlements: Settlements
  print: (text: string) => void
  nowMs?: () => number
}

/**
 * Runs the command, the words after `reconcile`; returns the exit code: 0 when both sides agree, 1 when they differ, or 2 for a
 * mistake in the command and for a day that has not ended, or ended less than two minutes ago. Rejects as the sources do.
 */
export async function reconcileCommand(
  { db, report, settlements, print, nowMs = Date.now }: ReconcileOptions,
  words: readonly string[],
): Promise<number> {
  const from = readDay(words)
  if (from === undefined) {
    print(reconcileUsage)
    return 2
  }
  const day = from.toISOString().slice(0, 10)
  const to = new Date(from.getTime() + dayMs)
  const earliest = new Date(to.getTime() + listedAfterMs)
  if (nowMs() < earliest.getTime()) {
    print(
      `${day} can be reconciled from ${earliest.toISOString()}: its settlements are not complete before\n`,
    )
    return 2
  }
  const provider = report ?? ownRecords(db)
  const found = await reconcileDay({ db, provider, settlements }, from, to)
  const { moved, settled, foreign, differences, open } = found
  print(`day          ${day} (UTC)\n`)
  print(`provider     ${moved} movements, by ${provider.source}\n`)
  print(`settlements  ${settled} movements\n`)
  if (foreign > 0) print(`foreign      ${foreign} of the account, not of Payweave\n`)
  for (const reference of open) print(`open         ${reference}: sent, and not decided yet\n`)
  for (const one of differences) print(`${lineOf(one)}\n`)
  print(`${differences.length} differences\n`)
  return differences.length === 0 ? 0 : 1
}

function ownRecords(db: Database): ProviderReport {
  return {
    source: 'records of the connector: the provider has no report',
    read: async (from, to) => ({ movements: await listOwnMovements(db, from, to), foreign: 0 }),
  }
}

function readDay(words: readonly string[]): Date | undefined {
  const [day = ''] = words
  if (words.length !== 1 || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined
  const from = new Date(`${day}T00:00:00Z`)
  return Number.isNaN(from.getTime()) || !from.toISOString().startsWith(day) ? undefined : from
}

function lineOf(one: Difference): string {
  const { kind, reference } = one
  if (kind === 'not_settled')
    return `${kind}  ${reference}: the provider moved ${textOf(one.provider)}, Payweave settled nothing`
  if (kind === 'not_reported')
    return `${kind}  ${reference}: Payweave settled ${textOf(one.settlement)}, the provider moved nothing`
  if (kind === 'not_returned')
    return `${kind}  ${reference}: ${textOf(one.provider)} came back at the provider, Payweave has no return`
  if (kind === 'repeated') return `${kind}  ${reference}: ${one.times} times at the ${one.side}`
  return `${kind}  ${reference}: the provider moved ${textOf(one.provider)}, Payweave settled ${textOf(one.settlement)}`
}

function textOf({ amountMinor, currency }: Movement): string {
  return `${formatAmount(amountMinor, currency)} ${currency}`
}
