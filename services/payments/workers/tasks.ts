// Sends tasks to the back end and retries until it accepts; no transaction is open during a call.
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { announceCharges } from '../operations/announce-charges.ts'
import type { Backend } from '../ports/backend.ts'
import {
  type ClaimedTask,
  claimTasks,
  markDone,
  markLater,
  readPayouts,
  readRefunds,
} from '../store/task-store.ts'

/** What the worker works with. */
export type TaskOptions = { db: Database; log: Logger; backend: Backend; linkKeys: KeySource }

/** The back end takes this many charges in one call. */
export const batchSize = 200
const callWidth = 8

type Kind = ClaimedTask['kind']

const messages: readonly Kind[] = ['announce', 'withdraw']
const everything: readonly Kind[] = [...messages, 'refund', 'payout']

/**
 * Starts the worker. Every replica runs it; tasks claimed by one are skipped by the others. Transfers
 * run beside the rounds: when a payment rail hangs, charges are still announced and withdrawn.
 */
export function startTasks(options: TaskOptions): Loop {
  let transfers: Promise<void> | undefined

  async function transferAll(tasks: ClaimedTask[]): Promise<void> {
    try {
      await Promise.all([
        sendRefunds(options, of(tasks, 'refund')),
        sendPayouts(options, of(tasks, 'payout')),
      ])
    } catch (error) {
      options.log.warn({ err: error, kind: 'transfer' }, 'round of work failed')
    } finally {
      transfers = undefined
      loop.notify()
    }
  }

  const loop = startLoop({
    kind: 'tasks',
    log: options.log,
    pauseMs: 200,
    idlePauseMs: 1_000,
    async round() {
      const kinds = transfers === undefined ? everything : messages
      const tasks = await claimTasks(options.db, kinds, batchSize)
      if (tasks.some(({ kind }) => !messages.includes(kind))) transfers = transferAll(tasks)
      await Promise.all([
        announce(options, of(tasks, 'announce')),
        withdraw(options, of(tasks, 'withdraw')),
      ])
      return tasks.length === batchSize
    },
  })
  return {
    notify: loop.notify,
    async close() {
      await loop.close()
      await transfers
    },
  }
}

function of(tasks: ClaimedTask[], kind: Kind): ClaimedTask[] {
  return tasks.filter((task) => task.kind === kind)
}

async function announce(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  await runTasks(options, tasks, (some) => announceCharges(options, subjects(some)))
}

async function withdraw(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  await runTasks(options, tasks, async (some) => {
    await options.backend.withdraw(
      some.flatMap(({ subject_id: payerId, reason }) =>
        reason === null ? [] : [{ payerId, reason }],
      ),
    )
  })
}

async function sendRefunds(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  if (tasks.length === 0) return
  const rows = await readRefunds(options.db, subjects(tasks))
  await oneByOne(options, tasks, async (task) => {
    const row = rows.find(({ refund_id }) => refund_id === task.subject_id)
    if (row === undefined) throw new Error('a refund task has no refund')
    const { refund_id: id, payer_id: payerId, amount_minor: amountMinor, currency } = row
    await options.backend.refund({ id, payerId, amountMinor, currency })
  })
}

async function sendPayouts(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  if (tasks.length === 0) return
  const rows = await readPayouts(options.db, subjects(tasks))
  await oneByOne(options, tasks, async (task) => {
    const row = rows.find(({ payee_id }) => payee_id === task.subject_id)
    if (row === undefined) throw new Error('a payout task has no payee')
    await options.backend.payOut({
      id: row.payee_id,
      amountMinor: row.net_minor,
      currency: row.currency,
      mobileNumberE164: row.mobile_number_e164,
    })
  })
}

/** Each task has a call and an outcome of its own. */
async function oneByOne(
  options: Pick<TaskOptions, 'db' | 'log'>,
  tasks: ClaimedTask[],
  call: (task: ClaimedTask) => Promise<void>,
): Promise<void> {
  const width = { width: callWidth, kind: 'task', log: options.log }
  await forEachOf(tasks, width, (task) => runTasks(options, [task], () => call(task)))
}

/** Makes one call for many tasks of one kind and notes how it went; when the back end refuses what is in it, one call each: none holds up the others. */
export async function runTasks(
  options: Pick<TaskOptions, 'db' | 'log'>,
  tasks: ClaimedTask[],
  call: (tasks: ClaimedTask[]) => Promise<void>,
): Promise<void> {
  const { db, log } = options
  const [first] = tasks
  if (first === undefined) return
  try {
    await call(tasks)
  } catch (error) {
    log.warn(
      { err: error, kind: first.kind, count: tasks.length, attempts: first.attempts },
      'back end not notified',
    )
    if (tasks.length > 1 && isRefusal(error)) return oneByOne(options, tasks, (one) => call([one]))
    await markLater(db, { kind: first.kind, subjectIds: subjects(tasks) })
    return
  }
  await markDone(db, { kind: first.kind, subjectIds: subjects(tasks) })
}

const notNow = new Set<Reason>(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMIT_EXCEEDED'])

function isRefusal(error: unknown): boolean {
  return error instanceof Failure && !notNow.has(error.reason)
}

function subjects(tasks: ClaimedTask[]): string[] {
  return tasks.map((task) => task.subject_id)
}
