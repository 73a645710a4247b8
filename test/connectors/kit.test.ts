// The kit of connectors delivers every kind of report once it is written, each once, in order by subject, and counts dead ones.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  FundsAccessStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { TransferOutcome as InstitutionOutcome } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { type Database, sql } from '#platform/db/db.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import {
  chargeReport,
  consentReport,
  onboardingReport,
  payoutReport,
  refundReport,
  transferReport,
} from '../../connectors/kit/api/report-messages.ts'
import {
  connectorMigrations,
  type RunningConnector,
  startConnector,
} from '../../connectors/kit/connector.ts'
import { connectorEnvironment } from '../../connectors/kit/environment.ts'
import { endAttempt, startAttempt } from '../../connectors/kit/operations/attempts.ts'
import { acceptCredit, endCredit } from '../../connectors/kit/operations/credits.ts'
import { findAttempt, findCredit, insertCharges } from '../../connectors/kit/store/payment-store.ts'
import {
  claimWork,
  countWork,
  countWorkStatement,
  deleteOldWork,
  endWork,
  hastenWork,
  insertWork,
} from '../../connectors/kit/store/work-store.ts'
import { workCommand } from '../../connectors/kit/work-command.ts'
import { type Reports, serveReports } from '../../tools/conformance/backend/reports.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts } from '../support/servers.ts'

const host = '127.0.0.1'
const secrets = mkdtempSync(join(tmpdir(), 'payweave-kit-'))
const migrations = connectorMigrations()
let database: TestDatabase
let db: Database
let receivers: Reports & { close(): Promise<void> }
let connector: RunningConnector

beforeAll(async () => {
  writeIdentities(secrets, ['payments', 'accounts', 'institution', 'simulator'])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const [payments = 0, accounts = 0, institution = 0] = await freePorts(3)
  const ports = { payments, accounts, institution }
  database = await createTestDatabase('connector', migrations)
  db = database.open()
  receivers = await serveReports({ host, ports, identityOf, log: silentLog })
  const urlOf = (port: number) => `http://${host}:${port}`
  connector = await startConnector(
    { routes: () => undefined },
    {
      db,
      log: silentLog,
      identity: identityOf('simulator'),
      host,
      ports: { rpc: 0, webhooks: 0, admin: 0 },
      receiverUrls: {
        payments: urlOf(payments),
        accounts: urlOf(accounts),
        institution: urlOf(institution),
      },
    },
  )
})
afterAll(async () => {
  await connector.close()
  await receivers.close()
  await database.drop()
  rmSync(secrets, { recursive: true })
})

function newSubject(): string {
  const id = randomUUID()
  receivers.expect(id)
  return id
}
const outcomesOf = (id: string) => receivers.of(id).map(({ rpc, outcome }) => `${rpc} ${outcome}`)

it('every kind of report arrives once, though it is written twice', async () => {
  const id = newSubject()
  const funds = FundsAccessStatus.FULL
  const completed = { accountLevel: 1, fundsAccessStatus: funds, currency: '' }
  const reports = [
    chargeReport({ chargeId: id, attemptId: 'a', outcome: ChargeOutcome.PAID }),
    payoutReport({ payoutId: id, outcome: TransferOutcome.COMPLETED }),
    refundReport({ refundId: id, outcome: TransferOutcome.COMPLETED }),
    refundReport({ refundId: id, outcome: TransferOutcome.RETURNED }),
    onboardingReport({ reviewId: id, outcome: { case: 'completed', value: completed } }),
    consentReport({ challengeId: id, answer: RegistrationStatus.APPROVED }),
    transferReport({ transferId: id, outcome: InstitutionOutcome.CANCELLED, reason: 'late' }),
  ]
  for (const report of reports) {
    expect(await insertWork(db, report)).toBe(true)
    expect(await insertWork(db, report)).toBe(false)
  }
  await eventually(() =>
    expect(outcomesOf(id).toSorted()).toEqual([
      'ReportCharge PAID',
      'ReportConsent APPROVED',
      'ReportOnboarding COMPLETED',
      'ReportPayout COMPLETED',
      'ReportRefund COMPLETED',
      'ReportRefund RETURNED',
      'ReportTransfer CANCELLED',
    ]),
  )
  await eventually(async () => expect(await countWork(db)).toEqual([]))
})

it('a report waits for the one before it, and what Payweave finds nothing for is tried again and counted as failing', async () => {
  const late = newSubject()
  receivers.plan(late, 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE')
  const refused = newSubject()
  receivers.plan(refused, 'CHARGE_NOT_FOUND', 'CHARGE_NOT_FOUND')
  await db.transaction(async (tx) => {
    for (const outcome of [ChargeOutcome.PROCESSING, ChargeOutcome.PAID]) {
      await insertWork(tx, chargeReport({ chargeId: late, attemptId: 'a', outcome }))
    }
    const paid = { chargeId: refused, attemptId: 'a', outcome: ChargeOutcome.PAID }
    await insertWork(tx, chargeReport(paid))
  })
  await eventually(() =>
    expect(receivers.of(late).filter(({ accepted }) => accepted)).toHaveLength(2),
  )
  expect(outcomesOf(late)).toEqual([
    'ReportCharge PROCESSING',
    'ReportCharge PROCESSING',
    'ReportCharge PROCESSING',
    'ReportCharge PAID',
  ])
  await eventually(() => expect(receivers.of(refused).length).toBeGreaterThan(1))
  await eventually(() =>
    expect(receivers.of(refused).filter(({ accepted }) => accepted)).toHaveLength(1),
  )
})

it('what Payweave does not know for a week is dead, shown as such, and sent by the command once that is corrected', async () => {
  const id = newSubject()
  receivers.plan(id, ...Array.from({ length: 30 }, () => 'CHARGE_NOT_FOUND' as const))
  const said: string[] = []
  const command = (...words: string[]) => workCommand(db, words, (text) => said.push(text))
  await insertWork(db, payoutReport({ payoutId: id, outcome: TransferOutcome.COMPLETED }))
  await eventually(async () => expect((await counted())?.failingS).toBeGreaterThan(0))
  await db.run(
    sql(
      'age_work',
      `update work set failing_since = failing_since - interval '8 days' where subject = $1 and failing_since is not null`,
    ),
    [id],
  )
  await eventually(async () => expect(await counted()).toMatchObject({ waiting: 0, dead: 1 }))
  expect(await metric('dead')).toBe(1)
  expect(await metric('failing_oldest_seconds')).toBe(0)

  expect(await command('list')).toBe(0)
  const [line = ''] = said
  expect(line).toContain(`report.payments  ReportPayout ${id}  CHARGE_NOT_FOUND`)
  const [position = ''] = line.split(' ', 1)
  for (const words of [[], ['retry'], ['retry', '--all', position], ['retry', 'x'], ['drop']])
    expect(await command(...words)).toBe(2)
  receivers.plan(id)
  expect(await command('retry', position)).toBe(0)
  await eventually(() => expect(receivers.of(id).at(-1)).toMatchObject({ accepted: true }))
  await eventually(async () => expect(await counted()).toBeUndefined())
  expect(await command('retry', position)).toBe(1)
  expect(await command('retry', '--all', '--kind', 'report.payments')).toBe(0)
})

/** What is not done of the reports to payments. */
async function counted() {
  return (await countWork(db)).find(({ kind }) => kind === 'report.payments')
}
async function metric(name: string): Promise<number> {
  const page = await (await fetch(`http://${host}:${connector.ports.admin}/metrics`)).text()
  const pattern = new RegExp(
    `^payweave_connector_work_${name}{.*kind="report.payments".*} (.+)$`,
    'm',
  )
  return Number(pattern.exec(page)?.[1])
}

it('what is not done is counted by an index of it alone, however much is done', async () => {
  const explain = sql('explain_count', `explain ${countWorkStatement.text}`)
  const plan = await db.rows<{ 'QUERY PLAN': string }>(explain, [])
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('work_not_done')
})

it('a try that fails counts towards the delay of the next one, and one that only waits ends the series', async () => {
  const { claim } = await newWork()
  const ends = [
    { reason: 'INTERNAL_ERROR', before: 0 },
    { reason: 'INTERNAL_ERROR', before: 1 },
    { reason: null, before: 2 },
    { reason: 'INTERNAL_ERROR', before: 0 },
  ]
  for (const { reason, before } of ends) {
    const work = await claim(minuteMs)
    if (work === undefined) throw new Error('no work')
    expect(work.failures).toBe(before)
    expect(work.failingMs > 0).toBe(before > 0)
    await endWork(db, { ...work, outcome: 'again', reason, delayMs: 0 })
  }
})

/** Work of a kind of its own, which no worker does. */
async function newWork() {
  const kind = `kind of ${randomUUID()}`
  const subject = randomUUID()
  await insertWork(db, { kind, key: subject, subject, payload: Buffer.alloc(0) })
  return {
    subject,
    claim: async (leaseMs: number) => (await claimWork(db, kind, 10, leaseMs))[0],
    hasten: () => hastenWork(db, [kind], subject),
    count: async () => (await countWork(db)).find((row) => row.kind === kind),
  }
}
const minuteMs = 60_000

const ageAll = sql(
  'age_all',
  `update work set written_at = written_at - $2::interval, done_at = done_at - $2::interval,
     dead_at = dead_at - $2::interval where subject = $1`,
)
const countOfSubject = sql(
  'count_of',
  'select count(*)::integer as count from work where subject = $1',
)
it('what was done 30 days ago is deleted, in batches; what is younger, open or dead is kept', async () => {
  const made = async (outcome: 'done' | 'dead' | 'again', age: string) => {
    const { subject, claim } = await newWork()
    const work = await claim(minuteMs)
    if (work === undefined) throw new Error('no work')
    await endWork(db, { ...work, outcome, reason: null, delayMs: minuteMs })
    await db.run(ageAll, [subject, age])
    return subject
  }
  const old = [await made('done', '31 days'), await made('done', '400 days')]
  const kept = [
    await made('done', '29 days'),
    await made('dead', '400 days'),
    await made('again', '400 days'),
  ]
  expect(await deleteOldWork(db, 1)).toBeLessThan(2)
  await deleteOldWork(db, 1_000)
  const rows = await Promise.all(
    [...old, ...kept].map((subject) => db.row<{ count: number }>(countOfSubject, [subject])),
  )
  expect(rows.map((row) => row?.count)).toEqual([0, 0, 1, 1, 1])
})

const again = { outcome: 'again', reason: null, delayMs: minuteMs } as const

it('a hint gives work that is done now to no second worker; it is tried again when the first has ended', async () => {
  const { claim, hasten } = await newWork()
  const first = await claim(minuteMs)
  if (first === undefined) throw new Error('no work')
  expect(await hasten()).toBe(true)
  expect(await claim(minuteMs)).toBeUndefined()
  expect(await endWork(db, { ...first, ...again })).toBe(true)
  expect(await claim(minuteMs)).toMatchObject({ attempts: 2 })
})

it('hints make work due once a second, and the last one is not lost', async () => {
  const { claim, hasten } = await newWork()
  const tries: number[] = []
  const startedMs = performance.now()
  await eventually(async () => {
    await hasten()
    const work = await claim(minuteMs)
    if (work === undefined) return false
    tries.push(performance.now() - startedMs)
    await endWork(db, { ...work, ...again })
    return tries.length === 4
  })
  // The first try needs no hint, and the first hint makes the second due at once.
  expect(tries[3]).toBeGreaterThan(1_900)
})

it('a worker whose lease another has taken ends nothing and changes nothing', async () => {
  const { subject, claim, count } = await newWork()
  const expire = new Date(Date.now() + 3_600_000)
  const money = { currency: 'USD', amountMinor: 100n, mobileNumber: '+12025550100' }
  const charge = { chargeId: subject, businessName: 'Shop', expireTime: expire, ...money }
  await insertCharges(db, [charge])
  await startAttempt(db, subject, subject)
  const credit = { reference: subject, kind: 'payout', chargeId: null, ...money } as const
  await acceptCredit(db, credit, 'sent by nobody')
  const stale = await claim(0)
  const holder = await claim(minuteMs)
  if (stale === undefined || holder === undefined) throw new Error('no work')

  expect(await endWork(db, { ...stale, ...again, outcome: 'dead' })).toBe(false)
  await expect(endAttempt(db, subject, { outcome: 'paid' }, stale)).rejects.toThrow('lease')
  await expect(endCredit(db, subject, 'completed', stale)).rejects.toThrow('lease')
  expect(await findAttempt(db, subject)).toMatchObject({ outcome: 'processing' })
  expect(await findCredit(db, subject)).toMatchObject({ state: 'pending' })

  receivers.expect(subject)
  expect(await endAttempt(db, subject, { outcome: 'paid' }, holder)).toBe(true)
  await endCredit(db, subject, 'completed', holder)
  expect(await endWork(db, { ...holder, ...again, outcome: 'dead' })).toBe(true)
  expect(await endWork(db, { ...holder, ...again })).toBe(false)
  expect(await count()).toMatchObject({ waiting: 0, dead: 1 })
})

it('a connector does not start with an empty secret, an address that is not https, or a currency that does not exist', () => {
  writeFileSync(join(secrets, 'key'), ' text\n')
  writeFileSync(join(secrets, 'empty'), ' \n')
  const variables = {
    URL: 'https://api.example/v1//',
    PLAIN: 'http://api.example',
    NAMED: 'https://name:word@api.example',
    CURRENCY: 'EUR',
    OTHER: 'EURO',
    NONE: '',
  }
  const settings = { secretsDir: secrets, publicBaseUrl: 'https://pay.example/x' }
  const of = (payweaveEnv: 'production' | 'local', connectorPublicUrl?: string) =>
    connectorEnvironment({ ...settings, payweaveEnv, connectorPublicUrl }, variables)
  const { secret, variable, url, currency, publicUrl, checkoutOrigin } = of('production')
  expect([secret('key'), variable('CURRENCY'), currency('CURRENCY'), url('URL')]).toEqual([
    'text',
    'EUR',
    'EUR',
    'https://api.example/v1',
  ])
  expect(of('local').url('PLAIN')).toBe('http://api.example')
  expect(checkoutOrigin).toBe('https://pay.example')
  expect(of('local', 'https://cards.example/').publicUrl()).toBe('https://cards.example')
  expect(publicUrl).toThrow('CONNECTOR_PUBLIC_URL must be set')
  writeFileSync(join(secrets, 'two'), 'new\nold\n')
  expect(of('local').secrets('two')).toEqual(['new', 'old'])
  for (const read of [secret, of('local').secrets])
    expect(() => read('empty')).toThrow('the secret empty is empty')
  for (const name of ['NONE', 'ABSENT']) expect(() => variable(name)).toThrow(`${name} must be set`)
  for (const name of ['PLAIN', 'OTHER']) expect(() => url(name)).toThrow('must be an https URL')
  expect(() => url('NAMED')).toThrow('must be a URL without a user')
  expect(() => currency('OTHER')).toThrow('OTHER must be an ISO 4217 code')
})

it('an id that is used again with other content is refused, and changes nothing', async () => {
  const [chargeId, other, attemptId] = [randomUUID(), randomUUID(), randomUUID()]
  const money = { currency: 'USD', amountMinor: 100n, mobileNumber: '+12025550100' }
  const expireTime = new Date(Date.now() + 3_600_000)
  const charge = { businessName: 'Shop', expireTime, ...money }
  await insertCharges(db, [
    { chargeId, ...charge },
    { chargeId: other, ...charge },
  ])
  await startAttempt(db, chargeId, attemptId)
  const conflict = { reason: 'REFERENCE_CONFLICT' }
  await expect(startAttempt(db, other, attemptId)).rejects.toMatchObject(conflict)
  expect(await startAttempt(db, chargeId, attemptId)).toMatchObject({ outcome: 'processing' })
  expect((await startAttempt(db, other, randomUUID())).charge).toBeDefined()

  const credit = { reference: randomUUID(), kind: 'payout', chargeId: null, ...money } as const
  await acceptCredit(db, credit, 'sent by nobody')
  for (const changed of [
    { amountMinor: 101n },
    { currency: 'EUR' },
    { mobileNumber: '+12025550101' },
    { kind: 'refund' } as const,
  ]) {
    const call = acceptCredit(db, { ...credit, ...changed }, 'sent by nobody')
    await expect(call).rejects.toMatchObject(conflict)
  }
  await acceptCredit(db, credit, 'sent by nobody')
  expect(await findCredit(db, credit.reference)).toMatchObject(credit)

  const refund = { ...credit, reference: randomUUID(), kind: 'refund', chargeId } as const
  await acceptCredit(db, refund, 'refunded by nobody')
  // Its work waits for another try: to accept it once more has that made at once.
  const later = `update work set next_at = clock_now() + interval '1 hour' where subject = $1`
  await db.run({ name: 'test_later', text: later }, [refund.reference])
  expect(await claimWork(db, 'refunded by nobody', 10, 1_000)).toEqual([])
  await acceptCredit(db, refund, 'refunded by nobody')
  const [due] = await claimWork(db, 'refunded by nobody', 10, 1_000)
  expect(due?.subject).toBe(refund.reference)
  const ofOther = acceptCredit(db, { ...refund, chargeId: other }, 'refunded by nobody')
  await expect(ofOther).rejects.toMatchObject(conflict)
  expect(await findCredit(db, refund.reference)).toMatchObject(refund)
})
