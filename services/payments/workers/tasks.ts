// Sends tasks to the back end and retries until it accepts; no transaction is open during a call. Charges are announced right
// after their commit, from memory: their tasks are inserted already leased to this process.
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Database } from '#platform/db/db.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Payer, Payment } from '../domain/payment.ts'
import { announceCharges, announcementOf } from '../operations/announce-charges.ts'
import type { Backend } from '../ports/backend.ts'
import {
  type ChargeRow,
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
const batchSize = 200
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
        payBack(options, of(tasks, 'refund')),
        payOut(options, of(tasks, 'payout')),
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

async function payBack(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  if (tasks.length === 0) return
  const rows = await readRefunds(options.db, subjects(tasks))
  await oneByOne(options, tasks, async (task) => {
    const row = rows.find(({ refund_id }) => refund_id === task.subject_id)
    if (row === undefined) throw new Error('a refund task has no refund')
    const { refund_id: id, payer_id: payerId, amount_minor: amountMinor, currency } = row
    await options.backend.payBack({ id, payerId, amountMinor, currency })
  })
}

async function payOut(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
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
async function runTasks(
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

/** More than a second of the fastest writers; charges beyond it are left to the worker of tasks. */
const maxWaiting = 5_000
const pauseMs = 1_000
/** Gathered before a call: for each that the last one had, so long. One that comes alone is announced at once. */
const gatherMs = { each: 5, max: 100 }

/** Starts the loop. */
export function startChargeAnnouncer(options: TaskOptions): Pick<Loop, 'close'> & {
  /** Takes the charges of a payment after its commit. Never throws, never waits. */
  announce: (payment: Payment) => void
} {
  const waiting: ChargeRow[] = []
  let lastCount = 1

  async function round(): Promise<boolean> {
    const charges = waiting.splice(0, batchSize)
    lastCount = Math.max(1, charges.length)
    const byPayer = new Map(charges.map((charge) => [charge.payer_id, charge]))
    await runTasks(options, charges.map(taskOf), async (tasks) => {
      const some = tasks.flatMap(({ subject_id: id }) => byPayer.get(id) ?? [])
      const keys = options.linkKeys()
      await options.backend.announce(some.map((charge) => announcementOf(charge, keys)))
    })
    return waiting.length > 0
  }

  const loop = startLoop({
    kind: 'charge announcements',
    log: options.log,
    pauseMs,
    gatherMs: () => Math.min(gatherMs.max, gatherMs.each * lastCount),
    round,
  })
  return {
    announce(payment) {
      if (payment.state !== 'Pending' || waiting.length >= maxWaiting) return
      for (const payer of payment.payers) waiting.push(chargeOf(payment, payer))
      loop.notify()
    },
    async close() {
      await loop.close()
      const subjectIds = waiting.map((charge) => charge.payer_id)
      if (subjectIds.length === 0) return
      // Release them to other workers: waiting for a silent back end would delay the shutdown.
      await markLater(options.db, { kind: 'announce', subjectIds }).catch((error: unknown) => {
        // Otherwise other workers claim them when the lease expires.
        options.log.warn(
          { err: error, kind: 'charge announcements' },
          'charges left to the task worker',
        )
      })
    },
  }
}

function chargeOf({ currency, businessName }: Payment, payer: Payer): ChargeRow {
  return {
    payer_id: payer.payerId,
    amount_minor:
      payer.amountMinor +
      payer.feeMinor +
      payer.tipMinor +
      payer.taxMinor +
      payer.convenienceFeeMinor,
    currency,
    mobile_number_e164: payer.mobileNumberE164,
    payment_channel: payer.paymentChannel,
    business_name: businessName,
    expire_time: payer.expireTime,
    link_key_id: payer.linkKeyId,
  }
}

function taskOf({ payer_id }: ChargeRow): ClaimedTask {
  return { subject_id: payer_id, kind: 'announce', reason: null, attempts: 1 }
}
