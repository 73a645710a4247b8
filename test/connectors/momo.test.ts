// The connector of MTN MoMo, as a process before a mock of MTN: it passes the conformance kit as far as the rail goes, believes no callback, and neither loses nor doubles money when
// answers are lost or it is killed.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { AttemptOutcome, RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import type { Work } from '../../connectors/kit/domain/work.ts'
import { claimWork, insertWork } from '../../connectors/kit/store/work-store.ts'
import { NotYet } from '../../connectors/kit/workers/worker.ts'
import { advance } from '../../connectors/momo/operations/advance.ts'
import { transferKind } from '../../connectors/momo/operations/transfer.ts'
import { type Momo, momoAt } from '../../connectors/momo/ports/momo.ts'
import { findRequest, renewRequest } from '../../connectors/momo/store/request-store.ts'
import {
  announce,
  type BackendCheck,
  type CheckContext,
  newReference,
  reported,
} from '../../tools/conformance/backend/check.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { serveHttp } from '../support/http-server.ts'
import { type ConnectorProcess, checkGroups, prepareConnector } from './harness.ts'
import { credentials, type Fault, startMomo } from './momo-mock.ts'

const { subscriptionKey, apiUser, apiKey } = credentials
const pin = '987654'
const payer = { mobile_number: '+46733123999' }
let momo: Awaited<ReturnType<typeof startMomo>>
let connector: ConnectorProcess

beforeAll(async () => {
  momo = await startMomo()
  connector = await prepareConnector({
    name: 'momo',
    identity: 'connector-momo',
    migrations: 'migrations',
    secrets: Object.fromEntries(
      ['collection', 'disbursement'].flatMap((product) => [
        [`momo-${product}-subscription-key`, subscriptionKey],
        [`momo-${product}-api-user`, apiUser],
        [`momo-${product}-api-key`, apiKey],
      ]),
    ),
    variables: (origin) => ({
      MOMO_URL: momo.url,
      MOMO_TARGET_ENVIRONMENT: 'sandbox',
      MOMO_CURRENCY: 'EUR',
      MOMO_CALLBACK_URL: `${origin}/webhooks/momo`,
    }),
  })
  await connector.start()
})
afterAll(async () => {
  await momo.close()
  await connector.remove()
})

/** Runs something with the clients and reports of the kit. */
async function withContext(run: (context: CheckContext) => Promise<void>): Promise<void> {
  const check: BackendCheck = { name: 'momo/own', rule: 'A rule of this file.', needs: [], run }
  const [result] = await connector.run([check])
  expect(result?.reason).toBeUndefined()
  expect(result?.result).toBe('passed')
}

/** Begins an attempt whose calls MTN answers as planned. */
async function pay(context: CheckContext, person: { mobile_number: string }, ...faults: Fault[]) {
  const chargeId = await announce(context, person)
  const attemptId = randomUUID()
  momo.plan(attemptId, ...faults)
  const { outcome } = await context.charges.payWithWallet({ chargeId, attemptId, pin })
  expect(outcome).toBe(AttemptOutcome.PROCESSING)
  return { chargeId, attemptId }
}

it('the description of MTN is a valid OpenAPI document that says who wrote it', async () => {
  const text = readFileSync(new URL('../../connectors/momo/openapi.yaml', import.meta.url), 'utf8')
  const document = parse(text, { merge: true }) as { info: { description: string } }
  expect(await new Validator().validate(document)).toMatchObject({ valid: true })
  expect(document.info.description).toMatch(/not published, reviewed or endorsed by MTN/)
})

/** What wallets without cards, transfers, bills, reviews and rates can show. */
const shown = new Set(['access', 'charges', 'wallets', 'payouts', 'refunds'])
/** The kit sends the reports of every connector in the same way: the example's test checks them. */
const groups = checkGroups.filter((group) => group !== 'reports')

it.each(groups)('the connector keeps every rule of %s that MTN can show', async (group) => {
  const results = await connector.runGroup(group)
  const of = (wanted: string) => results.filter(({ result }) => result === wanted)
  expect(of('failed').map(({ name, reason }) => `${name}: ${reason ?? ''}`)).toEqual([])
  expect(of('passed').length > 0, group).toBe(shown.has(group))
  const unsupported = of('skipped').filter(({ reason = '' }) => reason.startsWith('unsupported: '))
  expect(unsupported.length > 0, group).toBe(!shown.has(group))
})

it('an attempt is paid once though MTN is down, loses the call, refuses the token, or accepts without an answer', () =>
  withContext(async (context) => {
    const faults: Fault[][] = [
      ['accepted without answer'],
      ['lost', 'lost'],
      ['unavailable', 'unavailable'],
      ['token refused'],
    ]
    await Promise.all(
      faults.map(async (some) => {
        const { chargeId, attemptId } = await pay(context, payer, ...some)
        await reported(context, chargeId, 'PAID')
        const references = momo.sentOf(attemptId)
        expect(references.length).toBeGreaterThan(some.length)
        expect(new Set(references).size).toBe(1)
        expect(momo.acceptedOf(attemptId)).toBe(1)
      }),
    )
  }))

it('a callback is not believed: it starts an enquiry, and one about nothing is dropped', () =>
  withContext(async (context) => {
    const { chargeId, attemptId } = await pay(context, payer, 'undecided')
    await eventually(() => momo.acceptedOf(attemptId) === 1)
    const post = async (method: string, body: string) =>
      (await fetch(`${connector.webhookOrigin}/webhooks/momo`, { method, body })).status
    const forged = (externalId: string) => JSON.stringify({ externalId, status: 'SUCCESSFUL' })
    for (const method of ['POST', 'PUT']) expect(await post(method, forged(attemptId))).toBe(200)
    expect(await post('PUT', forged(randomUUID()))).toBe(200)
    expect(await post('POST', '{"externalId":"x"}')).toBe(400)
    expect(await post('POST', 'no JSON')).toBe(400)
    const { outcome } = await context.charges.getAttempt({ attemptId })
    expect(outcome).toBe(AttemptOutcome.PROCESSING)
    expect(context.reports.of(chargeId)).toEqual([])
    momo.decide(attemptId)
    await reported(context, chargeId, 'PAID')
  }))

const refusals: [string, keyof typeof RefusalReason][] = [
  ['+46733123450', 'DECLINED'],
  ['+46733123451', 'NOT_CONFIRMED'],
  ['+46733123452', 'NOT_CONFIRMED'],
  ['+46733123455', 'INVALID_DETAILS'],
  ['+46733123456', 'UNAVAILABLE'],
  ['+46733123457', 'NOT_PERMITTED'],
  ['+46733123462', 'UNAVAILABLE'],
  ['+46733123463', 'NOT_CONFIRMED'],
]
it('each refusal of the sandbox is reported with its reason', () =>
  withContext(async (context) => {
    await Promise.all(
      refusals.map(async ([number, reason]) => {
        const { chargeId } = await pay(context, { mobile_number: number })
        expect((await reported(context, chargeId, 'REFUSED')).refusalReason).toBe(reason)
      }),
    )
  }))

it('another currency than that of the account is refused, and MTN is not called', () =>
  withContext(async (context) => {
    const dollars: CheckContext = { ...context, map: { ...context.map, currency: 'USD' } }
    const { chargeId, attemptId } = await pay(dollars, payer)
    expect((await reported(context, chargeId, 'REFUSED')).refusalReason).toBe('NOT_PERMITTED')
    const payoutId = newReference(context)
    const amount = { currency: 'USD', minorUnits: 100n }
    await context.payouts.createPayout({ payoutId, amount, mobileNumber: payer.mobile_number })
    await reported(context, payoutId, 'FAILED')
    expect([...momo.sentOf(attemptId), ...momo.sentOf(payoutId)]).toEqual([])
  }))

/** Creates a payout whose calls MTN answers as planned, and waits for its report. */
async function payOut(context: CheckContext, number: string, outcome: string, ...faults: Fault[]) {
  const payoutId = newReference(context)
  momo.plan(payoutId, ...faults)
  const amount = { currency: 'EUR', minorUnits: 5n }
  await context.payouts.createPayout({ payoutId, amount, mobileNumber: number })
  await reported(context, payoutId, outcome)
  return payoutId
}

it('a payout is sent once though MTN accepts it without an answer, and fails when there is no such receiver', () =>
  withContext(async (context) => {
    const sent = await Promise.all([
      payOut(context, payer.mobile_number, 'COMPLETED', 'unavailable', 'accepted without answer'),
      payOut(context, '+46733123457', 'FAILED'),
    ])
    for (const payoutId of sent) expect(momo.acceptedOf(payoutId)).toBe(1)
  }))

it('a payout waits for money in our account and for a corrected configuration, and a payer does not', () =>
  withContext(async (context) => {
    const faults: Fault[] = ['no funds', 'malformed', 'rejected', 'fails without funds']
    const payoutId = await payOut(context, payer.mobile_number, 'COMPLETED', ...faults)
    // What has failed at MTN is asked for again by another reference.
    const [first, ...references] = momo.sentOf(payoutId)
    expect(references.map((one) => one === first)).toEqual([true, true, true, false])
    const refused = async (fault: Fault, reason: string) => {
      const { chargeId, attemptId } = await pay(context, payer, fault)
      expect((await reported(context, chargeId, 'REFUSED')).refusalReason).toBe(reason)
      expect(momo.sentOf(attemptId)).toHaveLength(1)
    }
    await Promise.all([
      refused('no funds', 'INSUFFICIENT_FUNDS'),
      refused('malformed', 'UNAVAILABLE'),
      refused('rejected', 'UNAVAILABLE'),
    ])
  }))

it('a request that MTN has accepted without an answer has not failed, though MTN then refuses it and does not know it yet', () =>
  withContext(async (context) => {
    const faults: Fault[] = ['accepted unseen', 'refused']
    const { chargeId, attemptId } = await pay(context, payer, ...faults)
    const payoutId = newReference(context)
    momo.plan(payoutId, ...faults)
    const amount = { currency: 'EUR', minorUnits: 5n }
    await context.payouts.createPayout({ payoutId, amount, mobileNumber: payer.mobile_number })
    await Promise.all([
      reported(context, chargeId, 'PAID'),
      reported(context, payoutId, 'COMPLETED'),
    ])
    for (const id of [attemptId, payoutId]) {
      expect(momo.sentOf(id)).toHaveLength(2)
      expect(momo.acceptedOf(id)).toBe(1)
    }
  }))

it('other money than was asked for is neither paid nor completed: the work is dead, which raises an alert', () =>
  withContext(async (context) => {
    const faults: Fault[] = ['other amount', 'other currency', 'other id']
    const attempts = await Promise.all(faults.map((fault) => pay(context, payer, fault)))
    const payoutId = newReference(context)
    momo.plan(payoutId, 'other amount')
    const amount = { currency: 'EUR', minorUnits: 5n }
    await context.payouts.createPayout({ payoutId, amount, mobileNumber: payer.mobile_number })
    const dead = async (kind: string) => {
      const page = await (await fetch(`${connector.adminUrl}/metrics`)).text()
      const pattern = new RegExp(`^payweave_connector_work_dead{.*kind="${kind}".*} (.+)$`, 'm')
      return Number(pattern.exec(page)?.[1])
    }
    await eventually(async () => {
      expect([await dead('momo.collect'), await dead('momo.transfer')]).toEqual([3, 1])
    })
    for (const { chargeId, attemptId } of attempts) {
      expect(context.reports.of(chargeId)).toEqual([])
      const { outcome } = await context.charges.getAttempt({ attemptId })
      expect(outcome).toBe(AttemptOutcome.PROCESSING)
    }
    expect(context.reports.of(payoutId)).toEqual([])
  }))

/** A client of MTN at this address. */
const clientAt = (baseUrl: string) =>
  momoAt({
    baseUrl,
    targetEnvironment: 'sandbox',
    callbackUrl: connector.webhookOrigin,
    credentials: { collection: credentials, disbursement: credentials },
  })

it('only an answer with the code of MTN proves that MTN does not know a request: a 404 of something before it proves nothing', async () => {
  const token = { access_token: 'of a test', token_type: 'access_token', expires_in: 3_600 }
  const proxy = await serveHttp((request, response) => {
    const isToken = request.url?.endsWith('/token/') === true
    const body = isToken ? token : { statusCode: 404, message: 'Resource not found' }
    response.writeHead(isToken ? 200 : 404).end(JSON.stringify(body))
  })
  const enquiry = clientAt(proxy.baseUrl).enquire('collection', randomUUID())
  await expect(enquiry).rejects.toThrow('MTN answered 404 without a code')
  proxy.close()
  expect(await clientAt(momo.url).enquire('collection', randomUUID())).toBeUndefined()
})

it('a worker whose lease another has taken sends nothing to MTN', async () => {
  const folder = join(import.meta.dirname, '../../connectors/momo/migrations')
  const database = await createTestDatabase('connector', connectorMigrations(folder))
  const db = database.open()
  const client = clientAt(momo.url)
  const externalId = randomUUID()
  await insertWork(db, {
    kind: transferKind,
    key: externalId,
    subject: externalId,
    payload: Buffer.alloc(0),
  })
  const claim = async (leaseMs: number) => (await claimWork(db, transferKind, 1, leaseMs))[0]
  const [stale, holder] = [await claim(0), await claim(60_000)]
  if (stale === undefined || holder === undefined) throw new Error('no work')
  const order = {
    externalId,
    currency: 'EUR',
    amountMinor: 5n,
    mobileNumber: payer.mobile_number,
    name: 'Payout',
  }
  const wanted = { ...order, ageMs: 0, isWanted: true }
  const send = (work: Work) => advance({ db, momo: client, work }, 'disbursement', wanted)
  await expect(send(stale)).rejects.toThrow('lease')
  expect(momo.sentOf(externalId)).toEqual([])
  await expect(send(holder)).rejects.toThrow(NotYet)
  expect(momo.sentOf(externalId)).toHaveLength(1)
  // Another worker finds the request failed and makes a new one, while this one waits for its answer.
  await renewRequest(db, externalId)
  const slow: Momo = {
    ...client,
    async send(product, sent) {
      const answer = await client.send(product, sent)
      await renewRequest(db, externalId)
      return answer
    },
  }
  const sending = advance({ db, momo: slow, work: holder }, 'disbursement', wanted)
  await expect(sending).rejects.toThrow(NotYet)
  expect(await findRequest(db, externalId)).toMatchObject({ isAccepted: false, sentAgeMs: null })
  await database.drop()
})

it('an attempt that MTN had when the process was killed is paid once, without a callback', () =>
  withContext(async (context) => {
    const { chargeId, attemptId } = await pay(context, payer, 'undecided')
    await eventually(() => momo.acceptedOf(attemptId) === 1)
    await connector.end('SIGKILL')
    momo.decide(attemptId)
    await connector.start()
    await reported(context, chargeId, 'PAID')
    expect(momo.acceptedOf(attemptId)).toBe(1)
  }))

it('nothing was sent that the description does not have, and no PIN', () => {
  expect(momo.violations).toEqual([])
  expect(momo.texts.length).toBeGreaterThan(50)
  expect(momo.texts.filter((text) => text.includes(pin))).toEqual([])
})
