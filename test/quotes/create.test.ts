// A quote is made of a live session, a fresh rate and a limit that allows it; a refusal leaves no row.
import { randomUUID } from 'node:crypto'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SessionState } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { QuoteKind, QuoteStatus } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { sql } from '#platform/db/db.ts'
import { eventually } from '../support/eventually.ts'
import { type Asked, type Harness, money, refusal, startHarness, ttlS } from './harness.ts'
import { accountId, institutionId, institutionName } from './peers.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(() => {
  Object.assign(harness.accounts.state, {
    session: SessionState.LIVE,
    status: AccountStatus.AVAILABLE,
    currency: 'USD',
    limitCurrency: 'TTD',
    limitMinor: 2_500_000n,
    showsRoom: true,
  })
  Object.assign(harness.source.state, { isDown: false, ageMs: 0, rate: undefined })
  harness.accounts.asked.limits.length = 0
  harness.accounts.asked.sessions.length = 0
  // Past every remembered rate.
  harness.testClock.advance(60_000)
})

const countRows = sql('test_count_quotes', 'select count(*)::integer as count from quote')

async function rows(): Promise<number> {
  return (await harness.db.row<{ count: number }>(countRows, []))?.count ?? 0
}

/** Refused, and nothing is stored. */
async function refused(asked: Asked = {}): Promise<string> {
  const before = await rows()
  const reason = await refusal(harness.quote(asked))
  expect(await rows()).toBe(before)
  return reason
}

describe('a quote', () => {
  it('a quote has the rate as the source gives it, the amount rounded down, and what rounding took', async () => {
    const quote = await harness.quote()
    expect(quote).toMatchObject({
      projectId: harness.projectId,
      institutionId,
      institutionName,
      accountId,
      kind: QuoteKind.TRANSFER,
      requested: { currency: 'USD', minorUnits: 1_000n },
      quoted: { currency: 'TTD', minorUnits: 6_782n },
      rate: '6.7829',
      residual: '0.009',
      rounding: { currency: 'TTD', minorUnits: 1n },
      status: QuoteStatus.ACTIVE,
      transactionId: '',
    })
    expect(quote.fees).toMatchObject({
      total: { currency: 'USD', minorUnits: 0n },
      senderPays: { currency: 'USD', minorUnits: 0n },
    })
  })

  it('a quote lives for its time in whole seconds of the database clock', async () => {
    const beforeMs = harness.testClock.now().getTime()
    const { quoteTime, expireTime } = await harness.quote()
    if (quoteTime === undefined || expireTime === undefined) throw new Error('no times')
    expect([quoteTime.nanos, expireTime.nanos]).toEqual([0, 0])
    expect(expireTime.seconds - quoteTime.seconds).toBe(BigInt(ttlS))
    const quotedMs = timestampDate(quoteTime).getTime()
    expect(quotedMs).toBeGreaterThan(beforeMs - 2_000)
    expect(quotedMs).toBeLessThanOrEqual(harness.testClock.now().getTime())
  })

  it('a quote reads back as it was made', async () => {
    const quote = await harness.quote({ requested: money('JPY', 12_345n) })
    expect(quote.rate).toBe('0.04541613')
    expect(await harness.get(quote.quoteId)).toEqual(quote)
  })

  it('a quote shows a rate of fewer decimals with four', async () => {
    const { rate } = await harness.quote({ creditParty: { currency: 'JPY' } })
    expect(rate).toBe('149.3500')
  })

  it('a quote within one currency requests no rate', async () => {
    harness.accounts.state.limitCurrency = 'USD'
    const before = harness.source.asked.length
    const quote = await harness.quote({ creditParty: {} })
    expect(quote).toMatchObject({ rate: '1.0000', residual: '0', quoted: money('USD', 1_000n) })
    expect(quote.rounding?.minorUnits).toBe(0n)
    expect(harness.source.asked.length).toBe(before)
  })
})

describe('the currency that is quoted', () => {
  it.each([
    ['what the credit party says', { currency: 'EUR', mobileNumber: '+12025550105' }, 'EUR'],
    ['that of the account with its number', { mobileNumber: '+12025550105' }, 'TTD'],
    [
      'that of its account, which decides over the number',
      { mobileNumber: '+12025550105', accountNumber: 'JP-1' },
      'JPY',
    ],
    ['the session’s when the party is unknown', { mobileNumber: '+12025550177' }, 'USD'],
    ['the session’s when the party says nothing', {}, 'USD'],
    ['the session’s when there is no party', undefined, 'USD'],
  ])('the currency that is quoted is %s', async (_, creditParty, currency) => {
    const kind = QuoteKind.INSTITUTION
    const quote = await harness.quote(creditParty === undefined ? { kind } : { creditParty })
    expect(quote.quoted?.currency).toBe(currency)
  })

  it.each([{ currency: 'USD' }, {}])('an institution’s quote takes no party: %j', async (party) => {
    const asked = { kind: QuoteKind.INSTITUTION, creditParty: party }
    expect(await refused(asked)).toBe('INVALID_PARAMETER credit_party')
  })

  it('a number with several accounts is ambiguous unless the currency is given', async () => {
    const several = { mobileNumber: '+12025550109' }
    expect(await refused({ creditParty: several })).toBe('AMBIGUOUS_MATCH credit_party')
    expect(await harness.quote({ creditParty: { ...several, currency: 'TTD' } })).toBeDefined()
  })

  it('the currency that is quoted takes one call about session, party and limits together', async () => {
    await harness.quote({ creditParty: { mobileNumber: '+12025550105' } })
    expect(harness.accounts.asked.sessions.map(({ references }) => references.length)).toEqual([1])
    expect(harness.accounts.asked.limits).toEqual([])
  })
})

describe('a session', () => {
  it.each([
    ['spent', SessionState.SPENT, 'SESSION_INVALID'],
    ['run out', SessionState.EXPIRED, 'SESSION_EXPIRED'],
  ])('a session that is %s gets no quote', async (_, session, reason) => {
    harness.accounts.state.session = session
    expect(await refused()).toBe(reason)
  })

  it('an unknown session, or one of another institution or project, gets no quote', async () => {
    expect(await refused({ sessionToken: 'pws_x' })).toBe('SESSION_INVALID')
    expect(await refused({ institutionName: 'Other Bank' })).toBe('SESSION_INVALID')
    const other = '0198c000-0000-7000-8000-0000000000ff'
    expect(await refused({ projectId: other })).toBe('SESSION_INVALID')
  })

  it('a session of an unavailable account gets no quote', async () => {
    for (const status of [AccountStatus.UNAVAILABLE, AccountStatus.PENDING_REVIEW]) {
      harness.accounts.state.status = status
      expect(await refused()).toBe('ACCOUNT_UNAVAILABLE')
    }
  })
})

describe('the limits', () => {
  it('the limits count the requested amount in their currency, rounded up', async () => {
    const inYen = { requested: money('USD', 1_000n), creditParty: { currency: 'JPY' } }
    harness.accounts.state.limitMinor = 6_783n
    expect(await harness.quote(inYen)).toBeDefined()
    harness.accounts.state.limitMinor = 6_782n
    expect(await refused(inYen)).toBe('LIMIT_EXCEEDED')
    const least = { requested: money('XOF', 1n), creditParty: { currency: 'XOF' } }
    harness.accounts.state.limitMinor = 2n
    expect(await harness.quote(least)).toBeDefined()
    harness.accounts.state.limitMinor = 1n
    expect(await refused(least)).toBe('LIMIT_EXCEEDED')
  })

  it('the limits refuse what is above them, and take what is exactly at them', async () => {
    harness.accounts.state.limitMinor = 6_783n
    expect(await harness.quote()).toBeDefined()
    harness.accounts.state.limitMinor = 6_782n
    expect(await refused()).toBe('LIMIT_EXCEEDED')
  })

  it('the limits are requested by themselves where accounts is of the previous release', async () => {
    Object.assign(harness.accounts.state, { showsRoom: false, limitMinor: 6_783n })
    expect(await harness.quote()).toBeDefined()
    expect(harness.accounts.asked.limits[0]?.limitUse).toMatchObject({
      accountId,
      amount: { currency: 'TTD', minorUnits: 6_783n },
    })
    harness.accounts.state.limitMinor = 6_782n
    expect(await refused()).toBe('LIMIT_EXCEEDED')
  })

  it('the limits are looked at after the session, the currency and the rate', async () => {
    harness.accounts.state.limitMinor = 0n
    const requested = money('MXN', 100n)
    expect(await refused({ requested })).toBe('CURRENCY_NOT_SUPPORTED credit_party.currency')
    const several = { mobileNumber: '+12025550109' }
    expect(await refused({ creditParty: several })).toBe('AMBIGUOUS_MATCH credit_party')
    harness.accounts.state.session = SessionState.EXPIRED
    expect(await refused()).toBe('SESSION_EXPIRED')
  })

  it('the limits refuse what is more than any amount in their currency', async () => {
    const requested = money('BHD', 10n ** 18n - 1n)
    expect(await refused({ requested, creditParty: { currency: 'BHD' } })).toBe('LIMIT_EXCEEDED')
  })
})

describe('a rate', () => {
  it('a rate that the source does not have is refused with the name of the field', async () => {
    expect(await refused({ requested: money('MXN', 100n) })).toBe(
      'CURRENCY_NOT_SUPPORTED credit_party.currency',
    )
    expect(await refused({ requested: money('MXN', 100n), creditParty: {} })).toBe(
      'CURRENCY_NOT_SUPPORTED request_currency',
    )
  })

  it('a stale rate is not used', async () => {
    harness.source.state.ageMs = 901_000
    expect(await refused()).toBe('SERVICE_UNAVAILABLE')
    harness.source.state.ageMs = 600_000
    expect(await harness.quote()).toBeDefined()
  })

  it('a cached rate that becomes stale is requested again', async () => {
    harness.source.state.ageMs = 896_500
    // It may be stale when it arrives.
    await eventually(() => harness.quote())
    const before = harness.source.asked.length
    harness.source.state.ageMs = 0
    harness.testClock.advance(4_000)
    expect(await harness.quote()).toBeDefined()
    expect(harness.source.asked.length).toBe(before + 1)
  })

  it('a rate is asked for once in some seconds, and the last one serves while the source is down', async () => {
    await harness.quote()
    const before = harness.source.asked.length
    await Promise.all([harness.quote(), harness.quote(), harness.quote()])
    expect(harness.source.asked.length).toBe(before)
    harness.source.state.isDown = true
    harness.testClock.advance(6_000)
    expect(await harness.quote()).toBeDefined()
    expect(harness.source.asked.length).toBeGreaterThan(before)
    harness.testClock.advance(901_000)
    expect(await refused()).toBe('SERVICE_UNAVAILABLE')
  })

  it.each(['0', '-1.0000', 'NaN', '1e3', ''])('the rate %j is refused', async (rate) => {
    harness.source.state.rate = rate
    const requested = money('EUR', 100n)
    harness.testClock.advance(1_000_000)
    expect(await refused({ requested })).toBe('SERVICE_UNAVAILABLE')
  })

  it('getRate returns to the institution the rate that quotes use', async () => {
    const { rate, sourceTime } = await harness.institution.getRate({
      baseCurrency: 'USD',
      quotedCurrency: 'JPY',
    })
    expect(rate).toBe('149.3500')
    expect(sourceTime).toBeDefined()
    const unknown = { baseCurrency: 'USD', quotedCurrency: 'MXN' }
    expect(await refusal(harness.institution.getRate(unknown))).toBe('CURRENCY_NOT_SUPPORTED')
    const none = { baseCurrency: 'USD', quotedCurrency: 'XXX' }
    expect(await refusal(harness.institution.getRate(none))).toBe(
      'INVALID_PARAMETER quoted_currency',
    )
  })
})

describe('an amount', () => {
  it('an amount worth less than a minor unit of the other currency is refused, and a unit is not', async () => {
    // At 604.10 for a dollar 6.041 XOF are worth a cent, and at 6.7829 so are 0.067829 TTD.
    for (const [currency, below, above] of [
      ['XOF', 6n, 7n],
      ['TTD', 6n, 7n],
    ] as const) {
      const inDollars = (minor: bigint) => ({
        requested: money(currency, minor),
        creditParty: { currency: 'USD' },
      })
      expect(await refused(inDollars(below))).toBe('INVALID_PARAMETER request_amount')
      expect((await harness.quote(inDollars(above))).quoted).toMatchObject(money('USD', 1n))
    }
  })

  it('an amount above the maximum amount is refused', async () => {
    const asked = { requested: money('JPY', 10n ** 18n - 1n), creditParty: { currency: 'XOF' } }
    expect(await refused(asked)).toBe('INVALID_PARAMETER request_amount')
  })

  it('an amount of zero, or without a currency, is refused', async () => {
    expect(await refused({ requested: money('USD', 0n) })).toBe('INVALID_PARAMETER requested')
    expect(await refused({ requested: money('XXX', 1n) })).toBe('INVALID_PARAMETER request_amount')
    expect(await refused({ kind: QuoteKind.UNSPECIFIED })).toBe('MISSING_PARAMETER kind')
  })
})

describe('the list of a project', () => {
  it('the quotes of a project are listed newest first, page after page, and no others', async () => {
    const made = [(await harness.quote()).quoteId, (await harness.quote()).quoteId]
    const { institution, projectId } = harness
    const listed: string[] = []
    let pageToken = ''
    do {
      const page = await institution.listQuotes({ projectId, pageSize: 2, pageToken })
      listed.push(...page.quotes.map(({ quoteId }) => quoteId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    // Ids grow with time, but for those of one millisecond.
    expect(listed).toEqual(listed.toSorted().toReversed())
    expect(listed).toHaveLength(await rows())
    expect(listed.slice(0, 2).toSorted()).toEqual(made.toSorted())
    const [first] = (await institution.listQuotes({ projectId, pageSize: 1 })).quotes
    expect(first).toEqual(await harness.get(listed[0] ?? ''))
    const after = Buffer.from(randomUUID()).toString('base64url')
    const other = { projectId: randomUUID(), pageToken: after }
    expect(await institution.listQuotes(other)).toMatchObject({ quotes: [], nextPageToken: '' })
    expect(await refusal(institution.listQuotes({ projectId, pageToken: 'nonsense' }))).toBe(
      'INVALID_PARAMETER page_token',
    )
  })

  it('a quote of a project is found by its id and by its state', async () => {
    const { institution, projectId } = harness
    const { ACTIVE, USED, EXPIRED } = QuoteStatus
    const { quoteId } = await harness.quote()
    const idsOf = async (asked: { quoteId?: string; status?: QuoteStatus; projectId?: string }) =>
      (await institution.listQuotes({ projectId, pageSize: 200, ...asked })).quotes.map(
        (one) => one.quoteId,
      )
    expect(await idsOf({ quoteId })).toEqual([quoteId])
    expect(await idsOf({ quoteId, status: USED })).toEqual([])
    expect(await idsOf({ quoteId, projectId: randomUUID() })).toEqual([])
    expect(await idsOf({ status: ACTIVE })).toContain(quoteId)
    expect(await idsOf({ status: EXPIRED })).not.toContain(quoteId)
    await harness.reserve(quoteId, randomUUID())
    expect(await idsOf({ status: ACTIVE })).toContain(quoteId)
    const late = await harness.quote()
    harness.testClock.advance(ttlS * 1_000 + 1)
    expect(await idsOf({ status: EXPIRED })).toContain(late.quoteId)
    expect(await idsOf({ status: ACTIVE })).toContain(quoteId)
    expect(await idsOf({ status: ACTIVE })).not.toContain(late.quoteId)
  })

  it('quotes that stay held are listed, the longest held first, until they are released', async () => {
    const { institution, projectId } = harness
    const held: { quoteId: string; movementId: string }[] = []
    for (let index = 0; index < 2; index += 1) {
      const { quoteId } = await harness.quote()
      const movementId = randomUUID()
      await harness.reserve(quoteId, movementId)
      held.push({ quoteId, movementId })
      harness.testClock.advance(1_000)
    }
    const list = async (minAgeS: number, pageToken = '') =>
      await institution.listHeldQuotes({ minAgeS, pageSize: 1, pageToken })
    const listAll = async (minAgeS: number) => {
      const found: { quoteId: string; movementId: string }[] = []
      let pageToken = ''
      do {
        const page = await list(minAgeS, pageToken)
        found.push(
          ...page.quotes.map(({ quote, movementId }) => ({
            quoteId: quote?.quoteId ?? '',
            movementId,
          })),
        )
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      return found.filter(({ quoteId }) => held.some((one) => one.quoteId === quoteId))
    }
    expect(await listAll(600)).toEqual([])
    harness.testClock.advance(700_000)
    expect(await listAll(600)).toEqual(held)
    const [first] = held
    if (first === undefined) throw new Error('no quote')
    await institution.releaseQuote({ projectId, ...first })
    expect(await listAll(600)).toEqual(held.slice(1))
    expect(await refusal(list(0, 'nonsense'))).toBe('INVALID_PARAMETER page_token')
  })

  it('the list of quotes reads its page by the key', async () => {
    const plan = sql(
      'test_quote_list_plan',
      `explain select 1 from quote where project_id = '${harness.projectId}'
         and quote_id < '${randomUUID()}' order by quote_id desc limit 10`,
    )
    const lines = await harness.db.rows<{ 'QUERY PLAN': string }>(plan, [])
    const text = lines.map((line) => line['QUERY PLAN']).join('\n')
    expect(text).toContain('quote_pkey')
    expect(text).not.toContain('Sort')
  })
})
