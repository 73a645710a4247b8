// Tests which callers find which account, and where a session token is valid.
import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seal } from '#core/identity/seal.ts'
import { LookupType, SessionState } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { sql } from '#platform/db/db.ts'
import { type Harness, refusal, settings, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const byMobile = (lookupValue: string) => ({ lookupType: LookupType.MOBILE, lookupValue })
const byEmail = (lookupValue: string) => ({ lookupType: LookupType.EMAIL, lookupValue })
const countUse = sql(
  'test_count_use',
  `insert into limit_usage as u (account_id, currency, span, span_start, used_minor)
   select $1, $2, span, date_trunc(span::text, clock_now() at time zone 'UTC')::date, $3
   from unnest(enum_range(null::limit_span)) as s(span)
   on conflict (account_id, currency, span, span_start)
     do update set used_minor = u.used_minor + excluded.used_minor`,
)
const forgetUse = sql('test_forget_use', 'delete from limit_usage')
const fingerprintOf = (text: string) => createHash('sha256').update(text).digest()

describe('a look-up', () => {
  it('a look-up by number, e-mail or account number opens a session of 900 s for the one account', async () => {
    const lookups = [
      byMobile('+12025550100'),
      byEmail('AMA@example.com'),
      { lookupType: LookupType.ACCOUNT_NUMBER, lookupValue: '1000000100' },
    ]
    for (const lookup of lookups) {
      const { account, session } = await harness.open(lookup)
      expect(account).toMatchObject({
        accountNumber: '1000000100',
        institutionName: 'Demo Wallet',
        accountStatus: AccountStatus.AVAILABLE,
        accountLevel: 2,
        currency: 'USD',
      })
      expect(session?.sessionToken).toMatch(/^pws_[A-Za-z0-9_-]{43}$/)
      expect(session).toMatchObject({ ttlSeconds: 900, singleUse: true })
    }
  })

  it('a look-up of a suspended account returns no session', async () => {
    const { account, session } = await harness.open(byMobile('+12025550110'))
    expect(account?.accountStatus).toBe(AccountStatus.UNAVAILABLE)
    expect(session).toBeUndefined()
  })

  it('a look-up of a number with two accounts is ambiguous, by e-mail it is not', async () => {
    expect(await refusal(harness.open(byMobile('+12025550109')))).toBe('AMBIGUOUS_MATCH')
    const { account } = await harness.open(byEmail('kojo@example.com'))
    expect(account?.firstName).toBe('Kojo')
    const named = await harness.open({ ...byMobile('+12025550109'), email: 'Adwoa@Example.com' })
    expect(named.account?.firstName).toBe('Adwoa')
  })

  it('a look-up of a number with a suspended and an available account is ambiguous as well', async () => {
    const move = sql(
      'test_move_kojo',
      `update account set status = $1::account_status where account_number = '2000000109'`,
    )
    await harness.db.run(move, ['suspended'])
    expect(await refusal(harness.open(byMobile('+12025550109')))).toBe('AMBIGUOUS_MATCH')
    const kojo = await harness.open({ ...byMobile('+12025550109'), firstName: 'Kojo' })
    expect(kojo.session).toBeUndefined()
    await harness.db.run(move, ['available'])
  })

  it('a look-up of an unknown number finds nothing and returns the lookup type', async () => {
    const call = harness.open(byMobile('+12025550199'))
    expect(await refusal(call)).toBe('ACCOUNT_NOT_FOUND')
    await expect(call).rejects.toMatchObject({ details: { lookup_type: 'MOBILE' } })
  })

  it('a look-up must fit the names when they are given, case and accents aside', async () => {
    const fits = { ...byMobile('+12025550100'), firstName: 'ÀMA', lastName: ' mensáh ' }
    expect((await harness.open(fits)).session).toBeDefined()
    for (const other of [{ firstName: 'Kofi' }, { lastName: 'Boateng' }, { email: 'x@y.zz' }]) {
      const call = harness.open({ ...byMobile('+12025550100'), ...other })
      expect(await refusal(call)).toBe('ACCOUNT_NOT_FOUND')
    }
  })

  it('a look-up finds nothing by a name or an e-mail address of which nothing can be compared', async () => {
    for (const blank of [{ firstName: '\u0301' }, { lastName: ' ' }, { email: ' ' }]) {
      const call = harness.open({ ...byMobile('+12025550100'), ...blank })
      expect(await refusal(call)).toBe('ACCOUNT_NOT_FOUND')
      await expect(call).rejects.toMatchObject({ details: { lookup_type: 'MOBILE' } })
    }
  })

  it('a look-up is narrowed by the institution', async () => {
    const lookup = byMobile('+12025550100')
    const own = await harness.open({ ...lookup, institutionName: 'Demo Wallet' })
    expect(own.session).toBeDefined()
    for (const institutionName of ['Restricted Bank', 'No Such Bank']) {
      expect(await refusal(harness.open({ ...lookup, institutionName }))).toBe('ACCOUNT_NOT_FOUND')
    }
  })

  it('a look-up finds nothing for a project without a grant', async () => {
    const projectId = harness.projects.stranger
    expect(await refusal(harness.open({ ...byMobile('+12025550100'), projectId }))).toBe(
      'ACCOUNT_NOT_FOUND',
    )
  })

  it('a look-up does not see an unfinished or rejected profile', async () => {
    const { account } = await harness.create()
    const lookup = byMobile(account?.mobileNumber ?? '')
    expect(await refusal(harness.open(lookup))).toBe('ACCOUNT_NOT_FOUND')
    const reviewId = await harness.reviewOf(account?.accountId)
    await harness.reports.reportOnboarding({
      reviewId,
      outcome: { case: 'rejected', value: { reason: 'blurred' } },
    })
    expect(await refusal(harness.open(lookup))).toBe('ACCOUNT_NOT_FOUND')
  })

  it('a look-up without a type or with an invalid value is refused', async () => {
    expect(await refusal(harness.open({ lookupValue: 'x' }))).toBe('MISSING_PARAMETER lookup_type')
    const nul = harness.open(byMobile('+1202\u0000'))
    expect(await refusal(nul)).toBe('INVALID_PARAMETER lookup_value')
  })
})

describe('a request id', () => {
  it('a request id sent again with the same look-up gives the same session while it lives, then a new one', async () => {
    const ask = () =>
      harness.open({
        ...byMobile('+12025550101'),
        requestId,
        fingerprint: fingerprintOf('kofi'),
      })
    const requestId = randomUUID()
    const first = await ask()
    expect((await ask()).session).toEqual(first.session)
    harness.testClock.advance(settings.sessionTtlS * 1_000 + 1_000)
    const later = await ask()
    expect(later.session?.sessionToken).not.toBe(first.session?.sessionToken)
    expect((await ask()).session).toEqual(later.session)
  })

  it('a request id sent again with another look-up is refused, also when that one finds nothing', async () => {
    const requestId = randomUUID()
    const lookup = byMobile('+12025550100')
    await harness.open({ ...lookup, requestId, fingerprint: fingerprintOf('one') })
    for (const other of [lookup, byMobile('+12025550199'), byMobile('+12025550109')]) {
      const call = harness.open({ ...other, requestId, fingerprint: fingerprintOf('two') })
      expect(await refusal(call)).toBe('REQUEST_ID_REUSED')
    }
  })

  it('a request id that found an unavailable account finds it again, and no other', async () => {
    const requestId = randomUUID()
    const lookup = { ...byMobile('+12025550110'), requestId }
    for (let time = 0; time < 2; time += 1) {
      const { session } = await harness.open({ ...lookup, fingerprint: fingerprintOf('nana') })
      expect(session).toBeUndefined()
    }
    const other = harness.open({ ...lookup, fingerprint: fingerprintOf('other') })
    expect(await refusal(other)).toBe('REQUEST_ID_REUSED')
  })

  it('a request id of one project reveals nothing to another project', async () => {
    const requestId = randomUUID()
    const lookup = { ...byMobile('+12025550100'), requestId, fingerprint: fingerprintOf('ama') }
    const own = await harness.open(lookup)
    const theirs = await harness.open({
      ...lookup,
      projectId: harness.projects.other,
      fingerprint: fingerprintOf('ama too'),
    })
    expect(theirs.session?.sessionToken).not.toBe(own.session?.sessionToken)
  })

  it('a request id sent fifty times at once gives one session', async () => {
    const requestId = randomUUID()
    const lookup = { ...byMobile('+12025550100'), requestId, fingerprint: fingerprintOf('burst') }
    const answers = await Promise.all(Array.from({ length: 50 }, () => harness.open(lookup)))
    expect(new Set(answers.map(({ session }) => session?.sessionToken)).size).toBe(1)
    expect(answers[0]?.session).toBeDefined()
  })

  it('a request id is the same in upper case, also at once and beside look-ups of others', async () => {
    const requestId = randomUUID()
    const lookup = { ...byMobile('+12025550100'), fingerprint: fingerprintOf('case') }
    const answers = await Promise.all([
      harness.open({ ...lookup, requestId }),
      harness.open({ ...lookup, requestId: requestId.toUpperCase() }),
      harness.open(byMobile('+12025550101')),
    ])
    const [own, same] = answers.map(({ session }) => session?.sessionToken)
    expect(own).toBeDefined()
    expect(same).toBe(own)
  })
})

describe('a session token', () => {
  const resolve = (more: object) =>
    harness.accounts.resolveSession({
      projectId: harness.projects.demo,
      institutionName: 'Demo Wallet',
      ...more,
    })
  const plain = (value: string) => ({ token: { case: 'sessionToken' as const, value } })
  const sealed = (value: string) => ({ token: { case: 'sessionTokenSealed' as const, value } })
  const sealUnder = (token: string, purpose = 'session_token') => {
    const { keyId, sharedKey } = harness.credentials.institution
    return seal(Buffer.from(token), { keyId, key: Buffer.from(sharedKey, 'base64'), purpose })
  }

  it('a session token resolves to its account, plain or sealed, and to the related accounts', async () => {
    const token = await harness.tokenOf('+12025550100')
    const references = [{ mobileNumber: '+12025550101' }, { accountNumber: '1000000110' }]
    for (const form of [plain(token), sealed(sealUnder(token))]) {
      const found = await resolve({ ...form, references })
      expect(found).toMatchObject({
        state: SessionState.LIVE,
        account: { accountNumber: '1000000100' },
        limitCurrency: 'TTD',
        references: [
          { account: { accountNumber: '1000000101' }, ambiguous: false },
          { account: { accountStatus: AccountStatus.UNAVAILABLE }, ambiguous: false },
        ],
      })
      expect(Buffer.from(found.tokenHash)).toEqual(fingerprintOf(token))
    }
  })

  it('a session token resolves to the remaining limits of its account on request', async () => {
    const token = plain(await harness.tokenOf('+12025550100'))
    expect((await resolve(token)).limitRoom).toBeUndefined()
    const roomLeft = async () => {
      const references = [{ mobileNumber: '+12025550101' }]
      const { limitRoom } = await resolve({ ...token, references, withLimitRoom: true })
      return [limitRoom?.single, limitRoom?.day, limitRoom?.month].map(
        (most) => `${most?.minorUnits} ${most?.currency}`,
      )
    }
    expect(await roomLeft()).toEqual(['2500000 TTD', '5000000 TTD', '20000000 TTD'])
    const { account } = await resolve(token)
    await harness.db.run(countUse, [account?.accountId, 'TTD', 1_000n])
    await harness.db.run(countUse, [account?.accountId, 'USD', 5n])
    expect(await roomLeft()).toEqual(['2500000 TTD', '4999000 TTD', '19999000 TTD'])
    await harness.db.run(countUse, [account?.accountId, 'TTD', 6_000_000n])
    expect(await roomLeft()).toEqual(['2500000 TTD', '0 TTD', '13999000 TTD'])
    await harness.db.run(forgetUse, [])
  })

  it('a reference is found by account number first, and reported as unknown or ambiguous', async () => {
    const token = await harness.tokenOf('+12025550100')
    const two = await resolve({
      ...plain(token),
      references: [
        { mobileNumber: '+12025550109', accountNumber: '2000000109' },
        { mobileNumber: '+12025550109' },
      ],
    })
    expect(two.references[0]?.account?.firstName).toBe('Kojo')
    expect(two.references[1]?.ambiguous).toBe(true)
    expect(two.references[1]?.account).toBeUndefined()
    const none = await resolve({ ...plain(token), references: [{ mobileNumber: '+12025550199' }] })
    expect(none.references[0]?.ambiguous).toBe(false)
    expect(none.references[0]?.account).toBeUndefined()
  })

  it('a session token is refused in the same way for every defect', async () => {
    const token = await harness.tokenOf('+12025550100')
    const good = sealUnder(token)
    const wrong = [
      plain(''),
      plain('pws_'),
      plain(`${token.slice(0, -1)}_`),
      plain('x'.repeat(10_000)),
      { ...plain(token), institutionName: 'Restricted Bank' },
      { ...plain(token), projectId: harness.projects.other },
      sealed(''),
      sealed('not base64!'),
      sealed(`${good.slice(0, -8)}AAAAAAA=`),
      sealed(sealUnder(token, 'authorisation-token')),
      sealed(sealUnder('nonsense')),
      sealed(seal(Buffer.from(token), { keyId: '00000000', key: Buffer.alloc(32), purpose: 'x' })),
      { ...sealed(good), institutionName: 'Restricted Bank' },
      { ...sealed(good), projectId: harness.projects.other },
      {},
    ]
    for (const query of wrong) expect(await refusal(resolve(query))).toBe('SESSION_INVALID')
  })

  it('sealed under a retired key is refused, though the key was used before', async () => {
    const token = await harness.tokenOf('+12025550100')
    const form = sealed(sealUnder(token))
    expect((await resolve(form)).state).toBe(SessionState.LIVE)
    const { keyId } = harness.credentials.institution
    const setRetired = sql(
      'test_retire',
      `update institution_key set retired_at = $2::timestamptz where key_id = $1`,
    )
    await harness.db.run(setRetired, [keyId, new Date()])
    expect(await refusal(resolve(form))).toBe('SESSION_INVALID')
    await harness.db.run(setRetired, [keyId, null])
    expect((await resolve(form)).state).toBe(SessionState.LIVE)
  })

  it('a session token is worth nothing to a project that has lost its grants', async () => {
    const projectId = harness.projects.other
    const { session } = await harness.open({ ...byMobile('+12025550100'), projectId })
    const form = { ...plain(session?.sessionToken ?? ''), projectId }
    expect((await resolve(form)).state).toBe(SessionState.LIVE)
    await harness.db.run(
      sql('test_lose_grants', 'delete from endpoint_grant where project_id = $1'),
      [projectId],
    )
    expect(await refusal(resolve(form))).toBe('SESSION_INVALID')
    const lookup = harness.open({ ...byMobile('+12025550100'), projectId })
    expect(await refusal(lookup)).toBe('ACCOUNT_NOT_FOUND')
  })

  it('a session token is answered as spent or expired when it is', async () => {
    const spent = await harness.tokenOf('+12025550100')
    await harness.db.run(
      sql(
        'test_spend',
        `update session set consumed_by = $2, consume_time = clock_now() where token_hash = $1`,
      ),
      [fingerprintOf(spent), randomUUID()],
    )
    expect((await resolve(plain(spent))).state).toBe(SessionState.SPENT)
    const expired = await harness.tokenOf('+12025550100')
    harness.testClock.advance(settings.sessionTtlS * 1_000 + 1_000)
    expect((await resolve(plain(expired))).state).toBe(SessionState.EXPIRED)
  })

  it('a session token is not in the database', async () => {
    const token = await harness.tokenOf('+12025550100')
    const row = await harness.db.row<{ text: string }>(
      sql('test_session_text', 'select session::text as text from session where token_hash = $1'),
      [fingerprintOf(token)],
    )
    expect(row?.text).toBeDefined()
    expect(row?.text).not.toContain(token.slice(4))
  })
})
