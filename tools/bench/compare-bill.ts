// Compares bill payments through the mesh with one program on the same tables, in turns, each on a new folder.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { onSystem, type Turn } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { billShape } from './load/requests.ts'
import { onDatabase } from './store/on-database.ts'
import { type System, startMesh, startOneProcess, type Yardstick } from './systems.ts'

/** One turn, and what of the product's work was still to be done when the load had ended. */
export type BillTurn = Pick<Turn, 'product' | 'oneProcess' | 'statement'> & {
  payments: number
  /** Payments whose hold the ledger had still to post. */
  unsettled: number
  /** How long that took. */
  settledAfterMs: number
}

const turns = 3
/** No turn begins that would not end within this, if it took as long as those before it. */
const maxMs = 150_000
const window = { warmUp: { answers: 3_000, maxMs: 6_000 }, measuredMs: 6_000 }
const settleWithinMs = 20_000

const yardstick: Yardstick = {
  program: 'bill-one-process.ts',
  service: 'billing',
  // The same biller, at the same price.
  parts: ['simulator'],
}

/** POST /bill_payments/pay in turns. */
export async function compareBill(say: (line: string) => void): Promise<BillTurn[]> {
  const made: BillTurn[] = []
  const begunMs = performance.now()
  const hasTime = (): boolean => {
    const spentMs = performance.now() - begunMs
    return made.length === 0 || spentMs + spentMs / made.length < maxMs
  }
  while (made.length < turns && hasTime()) {
    const print = ({ perSecond, othersShare }: Measured, name: string): void =>
      say(
        `bill ${made.length + 1}: ${name} ${perSecond.toFixed(0)}/s, others ${(othersShare * 100).toFixed(0)} %`,
      )
    const mesh = await onSystem(startMesh, billLoad)
    print(mesh.measured, 'product')
    const program = await onSystem(startBillProgram, billLoad)
    print(program.measured, 'one process')
    const { measured: product, ...stored } = mesh
    made.push({ ...stored, product, oneProcess: program.measured, statement: undefined })
  }
  return made
}

async function startBillProgram(): Promise<System> {
  const system = await startOneProcess(yardstick)
  await onDatabase(system.databaseUrl, (client) =>
    client.query('alter database payweave set search_path = billing, accounts'),
  )
  return system
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
