// Measures the ledger in turns with pgbench and describes the outcome.
import { type BenchLedger, type Load, startBenchLedger } from './ledger-load.ts'
import { ratioLine, table, whole } from './report.ts'
import { scriptPerSecond, scriptSeconds } from './yardsticks/pgbench.ts'

/** One turn of one load, per second. */
export type LedgerTurn = { transfers: number; pgbench: number }

// The first round, in which code is compiled and files are new, does not count.
const rounds = 5
const loads = {
  distinct: {
    name: 'Distinct accounts: a random customer pays another one',
    script: 'ledger',
    minRatio: 0.6,
  },
  hot: {
    name: 'One hot account: every customer pays the same customer',
    script: 'ledger-hot',
    minRatio: 3,
  },
  internal: {
    name: 'One hot internal account, which has no row: every customer pays into it',
    script: 'ledger-hot',
    minRatio: 3,
  },
} as const satisfies Record<Load, object>
const loadNames = Object.keys(loads) as Load[]

/** Measures every load in turns on one server. */
export async function compareLedger(
  say: (line: string) => void,
): Promise<Record<Load, LedgerTurn[]>> {
  const turns: Record<Load, LedgerTurn[]> = { distinct: [], hot: [], internal: [] }
  const ledger = await startBenchLedger()
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const load of loadNames) {
        const turn = await runTurn(ledger, load)
        if (round > 0) turns[load].push(turn)
        say(`ledger ${round}: ${load} ${whole(turn.transfers)}/s, pgbench ${whole(turn.pgbench)}/s`)
      }
    }
  } finally {
    await ledger.stop()
  }
  return turns
}

async function runTurn(ledger: BenchLedger, load: Load): Promise<LedgerTurn> {
  const transfers = await ledger.transfersPerSecond(load)
  return { transfers, pgbench: await scriptPerSecond(ledger.serverUrl, loads[load].script) }
}

/** The turns as Markdown. */
export function describeLedger(turns: Record<Load, LedgerTurn[]>): string[] {
  return loadNames.flatMap((load, index) => {
    const { name, script, minRatio } = loads[load]
    const ratios = turns[load].map(({ transfers, pgbench }) => transfers / pgbench)
    return [
      ...(index === 0 ? [] : ['']),
      `${name}; pgbench: \`tools/bench/yardsticks/${script}.sql\`, ${scriptSeconds} s a turn.`,
      ratioLine('Ratio of postings to rows of pgbench', ratios, minRatio),
      '',
      ...table(
        ['turn', 'transfers/s', 'postings/s', 'pgbench transactions/s', 'rows/s', 'ratio'],
        turns[load].map(({ transfers, pgbench }, turn) => [
          String(turn + 1),
          whole(transfers),
          whole(2 * transfers),
          whole(pgbench),
          whole(2 * pgbench),
          (transfers / pgbench).toFixed(2),
        ]),
      ),
    ]
  })
}
