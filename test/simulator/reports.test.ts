// Tests in what order the reports of a subject are sent, and what is recorded of them, also by a process whose lease has ended.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import type { Report } from '../../connectors/simulator/domain/report.ts'
import { advanceCharges } from '../../connectors/simulator/store/attempt-store.ts'
import { withdrawCharges } from '../../connectors/simulator/store/charge-store.ts'
import {
  claimReports,
  insertPayouts,
  recordReports,
  type Sent,
} from '../../connectors/simulator/store/report-store.ts'
import { startReporter } from '../../connectors/simulator/workers/reporter.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

let database: TestDatabase
let db: Database
const testClock = createTestClock()
beforeAll(async () => {
  database = await createTestDatabase('simulator', migrationFolders('simulator'))
  db = database.open({ testClock })
})
afterAll(() => database?.drop())

async function claim() {
  const [report] = await claimReports(db, ['payout'], 1, 0)
  if (report === undefined) throw new Error('no report is due')
  const { subjectId, kind, position, attempts } = report
  return { subjectId, kind, position, attempts }
}

const stateStatement = sql(
  'test_report_state',
  `select delivered_at is not null as "isDelivered", parked_at is not null as "isDeadLetter", last_reason as reason
   from report where subject_id = $1`,
)

/** A report that two processes have claimed, as the second one recorded it and then the first one. */
async function afterBoth(second: Partial<Sent>, first: Partial<Sent>): Promise<unknown> {
  const payout = { payoutId: randomUUID(), currency: 'USD', amountMinor: 1n }
  await insertPayouts(db, [{ ...payout, mobileNumber: '+12025550101' }])
  const [one, two] = [await claim(), await claim()]
  expect([one.subjectId, two.subjectId]).toEqual([payout.payoutId, payout.payoutId])
  await recordReports(db, [{ ...two, outcome: 'again', delayMs: 60_000, ...second }])
  await recordReports(db, [{ ...one, outcome: 'again', delayMs: 60_000, ...first }])
  return db.row(stateStatement, [payout.payoutId])
}

it('a late failure leaves what another process has recorded', async () => {
  const deadLetter = { outcome: 'dead_letter', reason: 'CHARGE_NOT_FOUND' } as const
  expect(await afterBoth(deadLetter, { reason: 'TIMEOUT' })).toEqual({
    isDelivered: false,
    isDeadLetter: true,
    reason: 'CHARGE_NOT_FOUND',
  })
  expect(await afterBoth({ reason: 'TIMEOUT' }, deadLetter)).toMatchObject({ isDeadLetter: false })
})

it('a report that was accepted is recorded as delivered, however late', async () => {
  expect(await afterBoth({ reason: 'TIMEOUT' }, { outcome: 'delivered' })).toMatchObject({
    isDelivered: true,
  })
})

/** Sends the reports of attempts to pay a charge, by a loop whose pauses end when it is notified or after no time. */
async function sendAttempts(
  attempts: ('refused' | 'paid')[],
  { send = () => undefined, nowMs = () => 0 }: { send?: SendNow; nowMs?: () => number } = {},
) {
  const chargeId = randomUUID()
  await withdrawCharges(db, [{ chargeId, reason: 'cancelled' }])
  for (const outcome of attempts) {
    const advance = { chargeId, attemptId: randomUUID(), outcome }
    await advanceCharges(db, [{ ...advance, reports: ['processing', outcome] }])
  }
  const steps: string[] = []
  const note = (step: string) => void steps.push(step)
  const loop = startReporter({
    db: {
      ...db,
      rows: (statement, values) => (note(statement.name), db.rows(statement, values)),
      run: (statement, values) => (note(statement.name), db.run(statement, values)),
    },
    log: silentLog,
    receiver: 'payments',
    timers: {
      nowMs,
      after(ms, work) {
        if (ms === 0) queueMicrotask(work)
        else note('pause')
        return () => undefined
      },
    },
    async send(report) {
      note(`${report.outcome} ${report.attempts}`)
      await Promise.resolve()
      send(report)
    },
  })
  return {
    steps,
    loop,
    pauses: (count: number) =>
      eventually(() => expect(steps.filter((step) => step === 'pause')).toHaveLength(count)),
  }
}
type SendNow = (report: Report) => void

it('the two reports of an attempt are claimed together, sent in order and recorded together', async () => {
  const { steps, loop, pauses } = await sendAttempts(['paid'])
  await pauses(1)
  await loop.close()
  expect(steps).toEqual(['claim_reports', 'processing 1', 'paid 1', 'note_reports', 'pause'])
})

it('the reports of the next attempt are sent without a pause', async () => {
  const { steps, loop, pauses } = await sendAttempts(['refused', 'paid'])
  await pauses(1)
  await loop.close()
  const [first, second] = ['refused', 'paid'].map((outcome) => [
    'claim_reports',
    'processing 1',
    `${outcome} 1`,
    'note_reports',
  ])
  expect(steps).toEqual([first, second, 'pause'].flat())
})

it('a report that is not accepted keeps the one after it from being sent', async () => {
  const { steps, loop, pauses } = await sendAttempts(['paid'], {
    send({ attempts }) {
      if (attempts === 1) throw new Failure('SERVICE_UNAVAILABLE', 'as the test wants it')
    },
  })
  await pauses(1)
  expect(steps).toEqual(['claim_reports', 'processing 1', 'note_reports', 'pause'])
  testClock.advance(1_000)
  loop.notify()
  await pauses(2)
  await loop.close()
  expect(steps.slice(4)).toEqual([
    'claim_reports',
    'processing 2',
    'paid 2',
    'note_reports',
    'pause',
  ])
})

it('a report is left to another claim when the one before it took long', async () => {
  let nowMs = 0
  const { steps, loop, pauses } = await sendAttempts(['paid'], {
    send: () => void (nowMs += 1_501),
    nowMs: () => nowMs,
  })
  await pauses(1)
  await loop.close()
  const rounds = ['processing 1', 'paid 2'].map((call) => ['claim_reports', call, 'note_reports'])
  expect(steps).toEqual([...rounds.flat(), 'pause'])
})
