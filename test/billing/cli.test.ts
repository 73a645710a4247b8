// Shows the command line against billing on a real database: the catalogue, the queue of people's decisions, receipts.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { ApprovalService } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import {
  CatalogueService,
  type ListCatalogueChangesRequestSchema,
} from '#gen/payweave/billing/v1/catalogue_pb.js'
import { sql } from '#platform/db/db.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { microsOfTimestamp, timestampFromMicros } from '#platform/rpc/timestamps.ts'
import { billApprovalService } from '../../services/billing/api/approvals.ts'
import { billingService } from '../../services/billing/api/billing.ts'
import { catalogueService } from '../../services/billing/api/catalogue.ts'
import { runHere } from '../support/command-line.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

const bearer = 'operator-credential-0123456789'
const secondBearer = 'finance-credential-0123456789'
let dir: string
let harness: Harness
let server: RpcServer

beforeAll(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'payweave-bills-'))
  const bearerOf = (name: string, credential: string) => {
    const sha256 = createHash('sha256').update(credential).digest('hex')
    return { name, sha256, rpcs: ['*'] }
  }
  const bearers = [bearerOf('operator', bearer), bearerOf('finance', secondBearer)]
  writeIdentities(dir, ['billing'], bearers)
  harness = await startHarness({ enquiryScheduleS: [30] })
  const { billing, catalogue } = harness
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: openIdentity({ name: 'billing', dir: path.join(dir, 'billing'), log: silentLog }),
    log: silentLog,
    routes: (router) => {
      router.service(
        BillingService,
        billingService(billing, { publicBaseUrl: 'https://pay.example', isSandbox: false }),
      )
      router.service(CatalogueService, catalogueService(billing, catalogue))
      router.service(ApprovalService, billApprovalService(billing))
    },
  })
  const grpc = { billing: `http://127.0.0.1:${server.port}` }
  writeFileSync(
    path.join(dir, 'sandbox.json'),
    JSON.stringify({ grpc, grpc_token: bearer, projects: {} }),
  )
})
afterAll(async () => {
  await server.close()
  await harness.stop()
  rmSync(dir, { recursive: true })
})

const run = (...words: string[]) => runHere(dir, ...words)

async function done(...words: string[]): Promise<string> {
  const { code, out, err } = await run(...words)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

const auditStatement = sql(
  'test_catalogue_audit',
  'select caller, action, note from catalogue_audit order by occurred_at',
)

const stateStatement = sql(
  'test_state_of_bill',
  'select state from bill_payment where transaction_id = $1',
)

describe('payweave biller and product', () => {
  const gas = [
    'product',
    'put',
    'DEMO_GAS',
    'REFILL',
    '--name',
    'Gas refill',
    '--pattern',
    'G\\d{6}',
  ]

  it('payweave biller and product make what can be paid at once, and take it away again', async () => {
    expect(await done('biller', 'put', 'DEMO_GAS', '--name', 'Demo Gas')).toMatch(
      /^DEMO_GAS .* active$/m,
    )
    await done(...gas, '--range', 'USD:5.00-50.00,JPY:500-5000')
    const list = await done('biller', 'list')
    expect(list).toMatch(/^DEMO_GAS +Demo Gas +active$/m)
    const row = /^DEMO_GAS +REFILL +Gas refill +G\\d\{6\} +JPY 500-5000, USD 5\.00-50\.00 +active$/m
    expect(list).toMatch(row)
    const wanted = { billerCode: 'DEMO_GAS', productCode: 'REFILL', customerReference: 'G123456' }
    expect((await harness.pay(wanted)).bill.state).toBe('succeeded')
    await done('biller', 'put', 'DEMO_GAS', '--name', 'Demo Gas', '--inactive')
    await expect(harness.pay(wanted)).rejects.toMatchObject({ reason: 'BILLER_NOT_FOUND' })
    expect(await done('biller', 'list')).toMatch(/^DEMO_GAS +Demo Gas +inactive$/m)
    const changes = await harness.db.rows<{ caller: string; action: string }>(auditStatement, [])
    expect(changes.map(({ caller, action }) => `${caller} ${action}`)).toEqual([
      'operator put_biller',
      'operator put_product',
      'operator put_biller',
    ])
  })

  it('payweave biller and product print one object a line with --json', async () => {
    const lines = (await done('biller', 'list', '--json')).trim().split('\n')
    const power = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(power).toContainEqual(
      expect.objectContaining({ biller_code: 'DEMO_POWER', product_code: 'PREPAID', active: true }),
    )
  })

  it('payweave biller and product say what was written wrongly', async () => {
    for (const range of ['USD', 'USD:1.00', 'USD:1-2.001', 'usd:1-2', 'XXY:1-2', '']) {
      const { code, err } = await run(...gas, '--range', range)
      expect(code, range).toBe(2)
      expect(err).toContain('--range must look like')
    }
    expect((await run('biller', 'put', 'DEMO_GAS')).err).toContain('--name is missing')
    expect((await run('product', 'put', 'DEMO_GAS')).code).toBe(2)
  })

  it('payweave biller and product hand on what billing refuses', async () => {
    const unsafe = await run(...gas.with(7, '(a+)+'), '--range', 'USD:1-2')
    expect(unsafe).toMatchObject({ code: 1, out: '' })
    expect(unsafe.err).toContain('INVALID_PARAMETER: product.reference_pattern')
    const nobody = await run(...gas.with(2, 'NOBODY'), '--range', 'USD:1-2')
    expect(nobody.err).toContain('BILLER_NOT_FOUND')
  })
})

describe('payweave bill', () => {
  const lost = () => Promise.reject(new Failure('TIMEOUT', 'no answer'))

  /** Payments that wait for a person. */
  async function inReview(count: number): Promise<string[]> {
    harness.billers.after = lost
    harness.billers.beforeEnquiry = lost
    const paid = await Promise.all(Array.from({ length: count }, () => harness.pay()))
    harness.testClock.advance(31_000)
    const waiting = async () => (await harness.rows()).filter(({ state }) => state === 'review')
    await eventually(async () => expect((await waiting()).length).toBe(count))
    harness.billers.after = async () => {}
    harness.billers.beforeEnquiry = async () => {}
    return paid.map(({ bill }) => bill.transactionId)
  }

  const stateOf = async (transactionId: string) =>
    (await harness.db.row<{ state: string }>(stateStatement, [transactionId]))?.state

  /** Ids of the payments that wait, read in pages of one; at most `most` pages. */
  async function reviewPages(most: number): Promise<string[]> {
    const baseUrl = `http://127.0.0.1:${server.port}`
    const catalogue = createClient(
      CatalogueService,
      createConnectTransport({ baseUrl, httpVersion: '1.1' }),
    )
    const headers = { authorization: `Bearer ${bearer}` }
    const ids: string[] = []
    let pageToken = ''
    do {
      const page = await catalogue.listReviews({ pageSize: 1, pageToken }, { headers })
      ids.push(...page.items.map(({ payment }) => payment?.transactionId ?? ''))
      pageToken = page.nextPageToken
    } while (pageToken !== '' && ids.length < most)
    return ids
  }

  it('payweave bill lists what waits for a person, and takes the decision', async () => {
    const [first = '', failed = '', third = ''] = await inReview(3)
    expect((await reviewPages(10)).toSorted()).toEqual([first, failed, third].toSorted())
    const list = await done('bill', 'reviews')
    for (const id of [first, failed, third]) {
      const row = list.split('\n').find((line) => line.includes(id)) ?? ''
      const cells = ['pending', '20.00 USD', 'DEMO_POWER/PREPAID', '12345678', harness.projectId]
      expect(row.split(/ {2,}/).slice(2, 7)).toEqual(cells)
    }
    const oldest = await done('bill', 'reviews', '--limit', '1', '--json')
    expect(oldest.trim().split('\n')).toHaveLength(1)
    const { bill_payment_id: id } = JSON.parse(oldest) as Record<string, string>
    expect(await done('bill', 'reviews', '--id', String(id), '--json')).toBe(oldest)
    expect(await done('bill', 'reviews', '--id', randomUUID())).toMatch(/^no payments wait/)
    const project = ['--project', harness.projectId, '--note', 'bank statement']
    const asked = await done('bill', 'resolve', first, '--paid', ...project)
    expect(asked).toMatch(/ {2}20\.00 USD {2,}paid {2,}operator {2,}waiting/)
    const [, command = ''] = /^a second person approves it: payweave (.*)$/m.exec(asked) ?? []
    const own = await run(...command.split(' '))
    expect(own).toMatchObject({ code: 1, out: '' })
    expect(own.err).toContain('APPROVAL_OWN')
    const second = ['--token', secondBearer, '--url', `http://127.0.0.1:${server.port}`]
    const approved = await done(...command.split(' '), ...second)
    expect(approved).toMatch(/ {2}operator {2,}approved {2,}finance$/m)
    expect(await stateOf(first)).toBe('succeeded')
    const failing = ['--failed-with', 'NOT_RECEIVED', ...project]
    const request = () => done('bill', 'resolve', failed, ...failing, '--json')
    const rejectedId = JSON.parse(await request()).approval_id as string
    const ofSubject = ['approval', 'list', '--bills', '--project', harness.projectId, '--subject']
    const waiting = await done(...ofSubject, failed)
    expect(waiting).toMatch(/^SINCE +APPROVAL +PROJECT +SUBJECT /)
    expect(waiting).toContain(rejectedId)
    expect(await done(...ofSubject, third)).toBe('nothing waits for a second person\n')
    const ofProject = ['--bills', '--project', harness.projectId]
    const withdrawn = await done('approval', 'reject', rejectedId, ...ofProject, '--note', 'typo')
    expect(withdrawn).toMatch(/ {2}operator {2,}rejected {2,}operator$/m)
    expect(await done('approval', 'list', ...ofProject)).toBe('nothing waits for a second person\n')
    const failedId = JSON.parse(await request()).approval_id as string
    await done('approval', 'approve', failedId, ...ofProject, ...second)
    expect(await stateOf(failed)).toBe('failed')
    const all = (await done('approval', 'list', '--all', '--bills')).trim().split('\n')
    expect(all.slice(1).map((line) => / (approved|rejected) /.exec(line)?.[1])).toEqual([
      'approved',
      'rejected',
      'approved',
    ])
    // The biller answers once the command has ended.
    const ended = Promise.withResolvers<void>()
    harness.billers.before = () => ended.promise
    harness.billers.beforeEnquiry = () => ended.promise
    expect(await done('bill', 'resolve', third, '--again', ...project)).toContain('pending')
    ended.resolve()
    harness.testClock.advance(31_000)
    await eventually(async () => (await harness.rows()).every(({ state }) => state !== 'pending'))
    expect(await done('bill', 'reviews')).toBe('no payments wait for a person\n')
    const twice = await run('bill', 'resolve', first, '--paid', ...project)
    expect(twice).toMatchObject({ code: 1, out: '' })
    expect(twice.err).toContain('REVIEW_NOT_FOUND')
    const notes = await harness.db.rows<{ action: string; note: string }>(auditStatement, [])
    expect(
      notes.filter(({ note }) => note === 'bank statement').map(({ action }) => action),
    ).toEqual([
      'request_paid',
      'review_paid',
      'request_failed',
      'request_failed',
      'review_failed',
      'review_again',
    ])
  })

  it('payweave audit catalogue lists who changed what, by caller, target and time', async () => {
    const lines = async (...words: string[]) => {
      const out = await done('audit', 'catalogue', '--json', ...words)
      return out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, string>)
    }
    const all = await lines()
    const stored = await harness.db.rows<{ action: string }>(auditStatement, [])
    expect(all.map(({ action }) => action)).toEqual(stored.map(({ action }) => action).toReversed())
    const ofBiller = await lines('--target', 'DEMO_GAS')
    expect(ofBiller.map(({ action, caller }) => [action, caller])).toEqual([
      ['put_biller', 'operator'],
      ['put_biller', 'operator'],
    ])
    expect(new Set((await lines('--caller', 'finance')).map(({ action }) => action))).toEqual(
      new Set(['review_paid', 'review_failed']),
    )
    const [newest, second] = all
    const [from = '', to = ''] = [second?.['occur_time'], newest?.['occur_time']]
    const [first] = await lines('--from', from, '--limit', '1')
    expect(first).toEqual(newest)
    expect((await lines('--to', to)).map(({ audit_id: id }) => id)).not.toContain(
      newest?.['audit_id'],
    )
    expect(await done('audit', 'catalogue', '--target', 'NOBODY')).toBe('no entries\n')
    const table = await done('audit', 'catalogue', '--target', 'DEMO_GAS/REFILL')
    expect(table).toMatch(/^TIME .*\n\S+ +operator +put_product +DEMO_GAS\/REFILL /)
  })

  /** Reads the changes of the catalogue as an operator does. */
  const changesOf = (wanted: MessageInitShape<typeof ListCatalogueChangesRequestSchema>) => {
    const baseUrl = `http://127.0.0.1:${server.port}`
    const transport = createConnectTransport({ baseUrl, httpVersion: '1.1' })
    const headers = { authorization: `Bearer ${bearer}` }
    return createClient(CatalogueService, transport).listCatalogueChanges(wanted, { headers })
  }

  it('an operator reads the catalogue audit page by page, and an unknown place is refused', async () => {
    const ids: string[] = []
    let pageToken = ''
    do {
      const page = await changesOf({ target: 'DEMO_GAS', pageSize: 1, pageToken })
      ids.push(...page.changes.map(({ auditId }) => auditId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(new Set(ids).size).toBe(2)
    await expect(changesOf({ pageToken: 'x' })).rejects.toThrow('page_token')
  })

  it('the times of the catalogue audit are compared to the microsecond', async () => {
    const [newest] = (await changesOf({ pageSize: 1 })).changes
    const startTime = newest?.occurTime
    if (startTime === undefined) throw new Error('an entry without its time')
    const after = timestampFromMicros(microsOfTimestamp(startTime) + 1n)
    expect((await changesOf({ startTime })).changes).toEqual([newest])
    expect((await changesOf({ startTime: after })).changes).toEqual([])
    expect((await changesOf({ endTime: after })).changes).toContainEqual(newest)
    expect((await changesOf({ endTime: startTime })).changes).not.toContainEqual(newest)
  })

  it('payweave bill wants one decision and a note', async () => {
    const decide = (...words: string[]) =>
      run('bill', 'resolve', 'bill_x', '--project', harness.projectId, ...words)
    for (const words of [[], ['--paid', '--again'], ['--paid', '--failed-with', 'X']]) {
      expect((await decide(...words, '--note', 'n')).err).toContain('pass one of --paid')
    }
    expect(await decide('--paid')).toMatchObject({ code: 2 })
    expect((await decide('--paid', '--note', 'n')).err).toContain('BILL_PAYMENT_NOT_FOUND')
  })

  it('payweave bill writes a receipt for its owner, once, and prints the link', async () => {
    const { bill } = await harness.pay()
    const file = path.join(dir, 'receipt.pdf')
    const words = ['bill', 'receipt', bill.transactionId, '--project', harness.projectId]
    expect(await done(...words, '--out', file)).toMatch(
      /^https:\/\/pay\.example\/receipts\/[\w-]{43}\n$/,
    )
    expect(readFileSync(file).subarray(0, 5).toString()).toBe('%PDF-')
    expect((await run(...words, '--out', file)).code).toBe(1)
    expect((await run(...words)).err).toContain('--out is missing')
  })
})
