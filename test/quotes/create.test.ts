// A quote is made of a live session, a fresh rate and a limit that allows it; a refusal leaves no row.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SessionState } from '#gen/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/accounts/v1/onboarding_event_pb.js'
import { QuoteKind, QuoteStatus } from '#gen/quotes/v1/quotes_pb.js'
import { sql } from '#platform/db/db.ts'
import { type Asked, money, refusal, startWorld, ttlS, type World } from './harness.ts'
import { accountId, institutionId, institutionName } from './peers.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())
beforeEach(() => {
  Object.assign(world.accounts.state, {
    session: SessionState.LIVE,
    status: AccountStatus.AVAILABLE,
    currency: 'USD',
    limitCurrency: 'TTD',
    limitMinor: 2_500_000n,
    showsRoom: true,
  })
  Object.assign(world.source.state, { isDown: false, ageMs: 0, rate: undefined })
  world.accounts.asked.limits.length = 0
  world.accounts.asked.sessions.length = 0
  // Past every remembered rate.
  world.testClock.advance(60_000)
})

const countRows = sql('test_count_quotes', 'select count(*)::integer as count from quote')

async function rows(): Promise<number> {
  return (await world.db.row<{ count: number }>(countRows, []))?.count ?? 0
}

/** Refused, and nothing is stored. */
async function refused(asked: Asked = {}): Promise<string> {
  const before = await rows()
  const reason = await refusal(world.quote(asked))
  expect(await rows()).toBe(before)
  return reason
}

describe('a quote', () => {
  it('has the rate as the source gives it, the amount rounded down, and what rounding took', async () => {
    const quote = await world.quote()
    expect(quote).toMatchObject({
      projectId: world.projectId,
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

  it('lives for its time in whole seconds of the database clock', async () => {
    const beforeMs = world.testClock.now().getTime()
    const { quoteTime, expireTime } = await world.quote()
    if (quoteTime === undefined || expireTime === undefined) throw new Error('no times')
    expect([quoteTime.nanos, expireTime.nanos]).toEqual([0, 0])
    expect(expireTime.seconds - quoteTime.seconds).toBe(BigInt(ttlS))
    const quotedMs = timestampDate(quoteTime).getTime()
    expect(quotedMs).toBeGreaterThan(beforeMs - 2_000)
    expect(quotedMs).toBeLessThanOrEqual(world.testClock.now().getTime())
  })

  it('reads back as it was made', async () => {
    const quote = await world.quote({ requested: money('JPY', 12_345n) })
    expect(quote.rate).toBe('0.04541613')
    expect(await world.get(quote.quoteId)).toEqual(quote)
  })

  it('shows a rate of fewer decimals with four', async () => {
    const { rate } = await world.quote({ creditParty: { currency: 'JPY' } })
    expect(rate).toBe('149.3500')
  })

  it('a quote within one currency requests no rate', async () => {
    world.accounts.state.limitCurrency = 'USD'
    const before = world.source.asked.length
    const quote = await world.quote({ creditParty: {} })
    expect(quote).toMatchObject({ rate: '1.0000', residual: '0', quoted: money('USD', 1_000n) })
    expect(quote.rounding?.minorUnits).toBe(0n)
    expect(world.source.asked.length).toBe(before)
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
  ])('is %s', async (_, creditParty, currency) => {
    const kind = QuoteKind.INSTITUTION
    const quote = await world.quote(creditParty === undefined ? { kind } : { creditParty })
    expect(quote.quoted?.currency).toBe(currency)
  })

  it('a number with several accounts is ambiguous unless the currency is given', async () => {
    const several = { mobileNumber: '+12025550109' }
    expect(await refused({ creditParty: several })).toBe('AMBIGUOUS_MATCH credit_party')
    expect(await world.quote({ creditParty: { ...several, currency: 'TTD' } })).toBeDefined()
  })

  it('needs one question about session, party and limits together', async () => {
    await world.quote({ creditParty: { mobileNumber: '+12025550105' } })
    expect(world.accounts.asked.sessions.map(({ references }) => references.length)).toEqual([1])
    expect(world.accounts.asked.limits).toEqual([])
  })
})

describe('a session', () => {
  it.each([
    ['spent', SessionState.SPENT, 'SESSION_INVALID'],
    ['run out', SessionState.EXPIRED, 'SESSION_EXPIRED'],
  ])('that is %s gets no quote', async (_, session, reason) => {
    world.accounts.state.session = session
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
      world.accounts.state.status = status
      expect(await refused()).toBe('ACCOUNT_UNAVAILABLE')
    }
  })
})

describe('the limits', () => {
  it('count the requested amount in their currency, rounded up', async () => {
    const inYen = { requested: money('USD', 1_000n), creditParty: { currency: 'JPY' } }
    world.accounts.state.limitMinor = 6_783n
    expect(await world.quote(inYen)).toBeDefined()
    world.accounts.state.limitMinor = 6_782n
    expect(await refused(inYen)).toBe('LIMIT_EXCEEDED')
    const least = { requested: money('XOF', 1n), creditParty: { currency: 'XOF' } }
    world.accounts.state.limitMinor = 2n
    expect(await world.quote(least)).toBeDefined()
    world.accounts.state.limitMinor = 1n
    expect(await refused(least)).toBe('LIMIT_EXCEEDED')
  })

  it('refuse what is above them, and take what is exactly at them', async () => {
    world.accounts.state.limitMinor = 6_783n
    expect(await world.quote()).toBeDefined()
    world.accounts.state.limitMinor = 6_782n
    expect(await refused()).toBe('LIMIT_EXCEEDED')
  })

  it('are asked for by themselves where accounts is of the release before', async () => {
    Object.assign(world.accounts.state, { showsRoom: false, limitMinor: 6_783n })
    expect(await world.quote()).toBeDefined()
    expect(world.accounts.asked.limits[0]?.limitUse).toMatchObject({
      accountId,
      amount: { currency: 'TTD', minorUnits: 6_783n },
    })
    world.accounts.state.limitMinor = 6_782n
    expect(await refused()).toBe('LIMIT_EXCEEDED')
  })

  it('are looked at after the session, the currency and the rate', async () => {
    world.accounts.state.limitMinor = 0n
    const requested = money('MXN', 100n)
    expect(await refused({ requested })).toBe('CURRENCY_NOT_SUPPORTED credit_party.currency')
    const several = { mobileNumber: '+12025550109' }
    expect(await refused({ creditParty: several })).toBe('AMBIGUOUS_MATCH credit_party')
    world.accounts.state.session = SessionState.EXPIRED
    expect(await refused()).toBe('SESSION_EXPIRED')
  })

  it('refuse what is more than any amount in their currency', async () => {
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
    world.source.state.ageMs = 901_000
    expect(await refused()).toBe('SERVICE_UNAVAILABLE')
    world.source.state.ageMs = 890_000
    expect(await world.quote()).toBeDefined()
  })

  it('a cached rate that becomes stale is requested again', async () => {
    world.source.state.ageMs = 896_500
    expect(await world.quote()).toBeDefined()
    world.testClock.advance(4_000)
    expect(await world.quote()).toBeDefined()
  })

  it('is asked for once in some seconds, and the last one serves while the source is down', async () => {
    await world.quote()
    const before = world.source.asked.length
    await Promise.all([world.quote(), world.quote(), world.quote()])
    expect(world.source.asked.length).toBe(before)
    world.source.state.isDown = true
    world.testClock.advance(6_000)
    expect(await world.quote()).toBeDefined()
    expect(world.source.asked.length).toBeGreaterThan(before)
    world.testClock.advance(901_000)
    expect(await refused()).toBe('SERVICE_UNAVAILABLE')
  })

  it.each(['0', '-1.0000', 'NaN', '1e3', ''])('of %j is none', async (rate) => {
    world.source.state.rate = rate
    const requested = money('EUR', 100n)
    world.testClock.advance(1_000_000)
    expect(await refused({ requested })).toBe('SERVICE_UNAVAILABLE')
  })

  it('getRate returns to the institution the rate that quotes use', async () => {
    const { rate, sourceTime } = await world.institution.getRate({
      baseCurrency: 'USD',
      quotedCurrency: 'JPY',
    })
    expect(rate).toBe('149.3500')
    expect(sourceTime).toBeDefined()
    const unknown = { baseCurrency: 'USD', quotedCurrency: 'MXN' }
    expect(await refusal(world.institution.getRate(unknown))).toBe('CURRENCY_NOT_SUPPORTED')
    const none = { baseCurrency: 'USD', quotedCurrency: 'XXX' }
    expect(await refusal(world.institution.getRate(none))).toBe('INVALID_PARAMETER quoted_currency')
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
      expect((await world.quote(inDollars(above))).quoted).toMatchObject(money('USD', 1n))
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
