// Runs product and yardsticks in turns and compares them; ratios mean more than numbers, since the machine is shared.
import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadJob } from './load/load.ts'
import { type Measured, measure } from './load/measure.ts'
import { waitForQuiet } from './load/processes.ts'
import { createShape, statusShape } from './load/requests.ts'
import { countStored, readPaymentKeys, type Stored } from './store/row-count-store.ts'
import { type System, startMesh, startOneProcess } from './systems.ts'
import { createsPerSecond, readsPerSecond } from './yardsticks/direct-sql.ts'

/** One turn: the product, the one process and the bare statement, each on a database of its own. */
export type Turn = {
  product: Measured
  oneProcess: Measured
  /** Per second by pgbench; undefined where there is none. */
  statement: number | undefined
  /** What the product had stored when the load ended. */
  stored: Stored
}

const rounds = 3
const settleMs = 1_500
const warmUp = { warmUp: { answers: 10_000, maxMs: 15_000 }, measuredMs: 100 }
/** After the warm-up the machine may have to become quiet first. */
const window = { warmUp: { answers: 500, maxMs: 1_000 }, measuredMs: 10_000 }
/** A window in which others took more of the machine is measured again, a few times. */
const maxOthersShare = 0.1
const maxAttempts = 4
const quietWithinMs = 60_000
const statementS = 5
const statusPrelude = { warmUp: { answers: 2_000, maxMs: 5_000 }, measuredMs: 100 }

/** POST /payments/request in turns. */
export async function compareCreate(say: (line: string) => void): Promise<Turn[]> {
  return await takeTurns('create', say, {
    load: createLoad,
    statement: (system) => createsPerSecond(system, statementS),
  })
}

/** GET /payments/status in turns. */
export async function compareStatus(say: (line: string) => void): Promise<Turn[]> {
  return await takeTurns('status', say, {
    load: statusLoad,
    async statement(system) {
      return await readsPerSecond(system, statementS, await readPaymentKeys(system.databaseUrl))
    },
  })
}

/** A load of new payments; every 200 must have its rows. */
export async function createLoad(system: System, receiver?: string): Promise<Measured> {
  const shape = createShape(system.target, receiver)
  const { measured, accepted } = await undisturbed(system, { shape, ids: [] })
  const stored = await countStored(system.databaseUrl)
  const counts = [stored.payments, stored.payers, stored.payees, stored.events, stored.announced]
  if (counts.some((count) => count < accepted)) {
    throw new Error(`${accepted} were acknowledged, stored are ${counts.join(', ')}`)
  }
  return measured
}

/** A load of reads, once the work behind the payments that it reads is done. */
export async function statusLoad(system: System): Promise<Measured> {
  await measure(system, { shape: createShape(system.target), ids: [], ...statusPrelude })
  const keys = await readPaymentKeys(system.databaseUrl)
  const ids = keys.map((key) => key.paymentId)
  const { measured } = await undisturbed(system, { shape: statusShape(system.target), ids })
  return measured
}

/** Warms up, waits for a quiet machine and measures, again when it was not quiet; `accepted` is of all loads. */
async function undisturbed(
  system: System,
  load: Pick<LoadJob, 'shape' | 'ids'>,
): Promise<{ measured: Measured; accepted: number }> {
  let { accepted } = await measure(system, { ...load, ...warmUp })
  for (let attempt = 1; ; attempt += 1) {
    await waitForQuiet(quietWithinMs)
    const measured = await measure(system, { ...load, ...window })
    accepted += measured.accepted
    const isQuiet = measured.othersShare <= maxOthersShare
    if (isQuiet || attempt === maxAttempts) return { measured, accepted }
  }
}

async function takeTurns(
  what: string,
  say: (line: string) => void,
  run: {
    load: (system: System) => Promise<Measured>
    statement: (system: System) => Promise<number | undefined>
  },
): Promise<Turn[]> {
  const turns: Turn[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const print = ({ perSecond, othersShare }: Measured, name: string): void =>
      say(
        `${what} ${round}: ${name} ${perSecond.toFixed(0)}/s, others ${(othersShare * 100).toFixed(0)} %`,
      )
    const { measured: product, stored } = await onSystem(startMesh, async (system) => {
      const measured = await run.load(system)
      print(measured, 'product')
      return { measured, stored: await countStored(system.databaseUrl) }
    })
    const { measured: oneProcess, statement } = await onSystem(startOneProcess, async (system) => {
      const measured = await run.load(system)
      print(measured, 'one process')
      await system.stopServing()
      return { measured, statement: await run.statement(system) }
    })
    turns.push({ product, oneProcess, statement, stored })
  }
  return turns
}

/** Starts a system for some work; it is stopped also when the work fails. */
export async function onSystem<T>(
  start: () => Promise<System>,
  work: (system: System) => Promise<T>,
): Promise<T> {
  const system = await start()
  try {
    await sleep(settleMs)
    return await work(system)
  } finally {
    await system.stop()
  }
}
