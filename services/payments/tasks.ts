// Tells the back end what it must know, until it knows it; no transaction is open during a call.
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import type { Announcement, Backend } from './backend.ts'
import { cashCode } from './links.ts'
import { forEachOf, type Loop, startLoop } from './loop.ts'
import {
  type ChargeRow,
  type ClaimedTask,
  claimTasks,
  markDone,
  markLater,
  readCharges,
  readPayouts,
  readRefunds,
} from './task-store.ts'

/** What the worker works with. */
export type TaskOptions = { db: Database; log: Logger; backend: Backend; linkKey: Buffer }

/** The back end takes this many charges in one call. */
const batchSize = 200
const transferWidth = 8
// Longer than a call may take. Two hands on one task do no harm, since each call may be repeated; a task that a
// killed worker had in hand waits this long.
const leaseMs = 15_000

/** Starts the worker. Every replica runs it; tasks in one's hand are left by the others. */
export function startTasks(options: TaskOptions): Loop {
  return startLoop({
    kind: 'tasks',
    log: options.log,
    pauseMs: 200,
    async round() {
      const tasks = await claimTasks(options.db, batchSize, leaseMs)
      await Promise.all([
        announce(options, of(tasks, 'announce')),
        withdraw(options, of(tasks, 'withdraw')),
        payBack(options, of(tasks, 'refund')),
        payOut(options, of(tasks, 'payout')),
      ])
      return tasks.length === batchSize
    },
  })
}

function of(tasks: ClaimedTask[], kind: ClaimedTask['kind']): ClaimedTask[] {
  return tasks.filter((task) => task.kind === kind)
}

async function announce(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  await told(options, tasks, () => announceCharges(options, subjects(tasks)))
}

/** Announces charges at once. Their tasks stay: announcing again changes nothing. */
export async function announceCharges(
  { db, backend, linkKey }: Omit<TaskOptions, 'log'>,
  payerIds: string[],
): Promise<void> {
  const charges = await readCharges(db, payerIds)
  await backend.announce(charges.map((row) => announcementOf(row, linkKey)))
}

function announcementOf(row: ChargeRow, linkKey: Buffer): Announcement {
  const isAgent = row.payment_channel === 'agent'
  return {
    payerId: row.payer_id,
    amountMinor: row.amount_minor,
    currency: row.currency,
    mobileNumberE164: row.mobile_number_e164,
    paymentChannel: row.payment_channel,
    businessName: row.business_name,
    cashCode: isAgent ? cashCode(linkKey, row.payer_id) : '',
    expireTime: row.expire_time,
  }
}

async function withdraw(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  await told(options, tasks, async () => {
    await options.backend.withdraw(
      tasks.flatMap(({ subject_id: payerId, reason }) =>
        reason === null ? [] : [{ payerId, reason }],
      ),
    )
  })
}

async function payBack(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  if (tasks.length === 0) return
  const rows = await readRefunds(options.db, subjects(tasks))
  await transfer(options, tasks, async (task) => {
    const row = rows.find(({ refund_id }) => refund_id === task.subject_id)
    if (row === undefined) throw new Error('a refund task has no refund')
    const { refund_id: id, payer_id: payerId, amount_minor: amountMinor, currency } = row
    await options.backend.payBack({ id, payerId, amountMinor, currency })
  })
}

async function payOut(options: TaskOptions, tasks: ClaimedTask[]): Promise<void> {
  if (tasks.length === 0) return
  const rows = await readPayouts(options.db, subjects(tasks))
  await transfer(options, tasks, async (task) => {
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

/** Transfers go one by one: each has its own outcome. */
async function transfer(
  options: TaskOptions,
  tasks: ClaimedTask[],
  call: (task: ClaimedTask) => Promise<void>,
): Promise<void> {
  const width = { width: transferWidth, kind: 'transfer', log: options.log }
  await forEachOf(tasks, width, (task) => told(options, [task], () => call(task)))
}

async function told(
  { db, log }: TaskOptions,
  tasks: ClaimedTask[],
  call: () => Promise<void>,
): Promise<void> {
  const [first] = tasks
  if (first === undefined) return
  try {
    await call()
  } catch (error) {
    log.warn(
      { err: error, kind: first.kind, count: tasks.length, attempts: first.attempts },
      'back end not told',
    )
    await markLater(db, tasks)
    return
  }
  await markDone(db, tasks)
}

function subjects(tasks: ClaimedTask[]): string[] {
  return tasks.map((task) => task.subject_id)
}
