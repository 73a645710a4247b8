// Measures the ledger in turns with pgbench and describes the outcome.
import { type BenchLedger, type Load, startBenchLedger } from './ledger-load.ts'
import { median, table, whole } from './report.ts'

/** One turn of one load, per second. */
export type LedgerTurn = {
  transfers: number
  /** Undefined without pgbench on this machine. */
  updates: number | undefined
}

const rounds = 3
const loads: Load[] = ['distinct', 'hot']
const names = {
  distinct: 'Distinct accounts: a customer pays a customer; pgbench updates two random rows',
  hot: 'One hot internal account: every customer pays into it; pgbench updates a random row and one that all share',
} as const satisfies Record<Load, string>

/** Measures every load in turns on one server. */
export async function compareLedger(
  say: (line: string) => void,
): Promise<Record<Load, LedgerTurn[]>> {
  const turns: Record<Load, LedgerTurn[]> = { distinct: [], hot: [] }
  const ledger = await startBenchLedger()
  try {
    for (let round = 1; round <= rounds; round += 1) {
      for (const load of loads) {
        const turn = await runTurn(ledger, load)
        turns[load].push(turn)
        const updates = turn.updates === undefined ? '-' : whole(turn.updates)
        say(`ledger ${round}: ${load} ${whole(turn.transfers)}/s, pgbench ${updates}/s`)
      }
    }
  } finally {
    await ledger.stop()
  }
  return turns
}

async function runTurn(ledger: BenchLedger, load: Load): Promise<LedgerTurn> {
  const transfers = await ledger.transfersPerSecond(load)
  return { transfers, updates: await ledger.updatesPerSecond(load) }
}

/** The turns as Markdown. */
export function describeLedger(turns: Record<Load, LedgerTurn[]>): string[] {
  return loads.flatMap((load, index) => [
    ...(index === 0 ? [] : ['']),
    `${names[load]}. **Ratio of postings to updated rows: ${ratioText(turns[load])}.**`,
    '',
    ...table(
      ['turn', 'transfers/s', 'postings/s', 'pgbench transactions/s', 'rows/s', 'ratio'],
      turns[load].map(({ transfers, updates }, turn) => [
        String(turn + 1),
        whole(transfers),
        whole(2 * transfers),
        updates === undefined ? '–' : whole(updates),
        updates === undefined ? '–' : whole(2 * updates),
        updates === undefined ? '–' : (transfers / updates).toFixed(2),
      ]),
    ),
  ])
}

function ratioText(turns: LedgerTurn[]): string {
  const ratios = turns.flatMap(({ transfers, updates }) =>
    updates === undefined ? [] : [transfers / updates],
  )
  if (ratios.length === 0) return 'not measured, there is no pgbench'
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  return `median ${median(ratios).toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
}
