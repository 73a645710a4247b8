// Compares bill payments through the mesh with pgbench writing the least that they leave behind, in turns.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { onSystem } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { billShape } from './load/requests.ts'
import { cpuLines, ratioLine, table, whole } from './report.ts'
import { onDatabase } from './store/on-database.ts'
import { onServer, type System, startMesh } from './systems.ts'
import { scriptPerSecond, scriptSeconds } from './yardsticks/pgbench.ts'

/** One turn, and what of the product's work was still to be done when the load had ended. */
export type BillTurn = {
  product: Measured
  pgbench: number
  payments: number
  /** Payments whose hold the ledger had still to post. */
  unsettled: number
  /** How long that took. */
  settledAfterMs: number
}

// The first round, in which files are new, does not count.
const rounds = 5
const minRatio = 0.5
const window = { warmUp: { answers: 3_000, maxMs: 8_000 }, measuredMs: 8_000 }
const settleWithinMs = 20_000

/** POST /bill_payments/pay in turns. */
export async function compareBill(say: (line: string) => void): Promise<BillTurn[]> {
  const turns: BillTurn[] = []
  for (let round = 0; round < rounds; round += 1) {
    const { measured: product, ...stored } = await onSystem(startMesh, billLoad)
    const pgbench = await onServer((serverUrl) => scriptPerSecond(serverUrl, 'bill'))
    say(
      `bill ${round}: product ${whole(product.perSecond)}/s, others ${(product.othersShare * 100).toFixed(0)} %, pgbench ${whole(pgbench)}/s`,
    )
    if (round > 0) turns.push({ ...stored, product, pgbench })
  }
  return turns
}

/** A load of new payments. Every one that was acknowledged must have all its rows, its money moved once. */
async function billLoad(system: System) {
  const measured = await measure(system, { shape: billShape(system.target), ids: [], ...window })
  const endedMs = performance.now()
  return await onDatabase(system.databaseUrl, async (client) => {
    const atEnd = await count(client)
    let stored = atEnd
    while (stored.transfers < stored.payments && performance.now() - endedMs < settleWithinMs) {
      await sleep(50)
      stored = await count(client)
    }
    const settledAfterMs = performance.now() - endedMs
    const { payments, transfers, postings, executions } = stored
    const counts = [payments, transfers, postings / 2, executions]
    if (measured.accepted > payments || new Set(counts).size > 1) {
      throw new Error(`${measured.accepted} were acknowledged, stored are ${counts.join(', ')}`)
    }
    return { measured, payments, unsettled: payments - atEnd.transfers, settledAfterMs }
  })
}

type Counts = { payments: number; transfers: number; postings: number; executions: number }

/** Rows of payments that succeeded. */
async function count(client: Client): Promise<Counts> {
  const counted = await client.query<Counts>(
    `select (select count(*)::integer from billing.bill_payment where state = 'succeeded') as payments,
       (select count(*)::integer from accounts.transfer where method = 'bill_payment') as transfers,
       (select count(*)::integer from accounts.posting p join accounts.transfer t
         using (project_id, transfer_id) where t.method = 'bill_payment') as postings,
       (select count(*)::integer from simulator.execution where kind = 'bill') as executions`,
  )
  const [row] = counted.rows
  if (row === undefined) throw new Error('a count has no row')
  return row
}

/** The turns as Markdown. */
export function describeBills(turns: BillTurn[]): string[] {
  const ratios = turns.map(({ product, pgbench }) => product.perSecond / pgbench)
  const rows = turns.map((turn, index) => [
    String(index + 1),
    whole(turn.product.perSecond),
    whole(turn.pgbench),
    (ratios[index] ?? 0).toFixed(2),
    `${turn.product.p50Ms.toFixed(1)} / ${turn.product.p99Ms.toFixed(1)}`,
    (turn.product.othersShare * 100).toFixed(0),
    String(turn.unsettled),
    (turn.settledAfterMs / 1_000).toFixed(1),
  ])
  const head = ['turn', 'payments/s', 'pgbench/s', 'ratio', 'p50 / p99 ms', 'taken by others, %']
  return [
    `\`POST /bill_payments/pay\` from one float, 64 connections; pgbench: \`tools/bench/yardsticks/bill.sql\`, ${scriptSeconds} s a turn.`,
    ratioLine('Ratio of payments to transactions of pgbench', ratios, minRatio),
    '',
    ...table([...head, 'not yet posted at the end', 'all posted after s'], rows),
    '',
    'CPU per payment in µs, median of the turns:',
    '',
    ...cpuLines(turns.map(({ product }) => product.cpuMicros)),
  ]
}
