// Shows that sessions, their repeats and the pages of a history live through a rotation of session.key.
import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LookupType, SessionState } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { sql } from '#platform/db/db.ts'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { fixedKeys, testKeys } from '../support/keys.ts'
import { type Harness, refusal, settings, startHarness } from './harness.ts'

const keys = testKeys('untimed')
const number = '+12025550101'
const institutionName = 'Demo Wallet'
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ pepper: fixedKeys(), seal: fixedKeys() }, keys)
})
afterAll(() => harness.stop())

/** A look-up under a request id; the same call each time. */
function lookUp() {
  const requestId = randomUUID()
  const fingerprint = createHash('sha256').update(requestId).digest()
  return () =>
    harness.open({ lookupType: LookupType.MOBILE, lookupValue: number, requestId, fingerprint })
}

async function stateOf(token: string | undefined) {
  const { state } = await harness.accounts.resolveSession({
    projectId: harness.projects.demo,
    institutionName,
    token: { case: 'sessionToken', value: token ?? '' },
  })
  return state
}

it('a repeat shows the token of its session again after later rotations', async () => {
  const [ofRelease, ofOld] = [lookUp(), lookUp()]
  const before = await ofRelease()
  // As the previous release stores a session: without the id of a key.
  await harness.db.run(sql('test_no_key_id', 'update session set key_id = null'), [])
  const old = await ofOld()
  keys.rotate()
  const ofNew = lookUp()
  const fresh = await ofNew()
  expect((await ofRelease()).session).toEqual(before.session)
  expect((await ofOld()).session).toEqual(old.session)
  keys.rotate()
  expect((await ofRelease()).session).toEqual(before.session)
  expect((await ofOld()).session).toEqual(old.session)
  expect((await ofNew()).session).toEqual(fresh.session)
  for (const { session } of [before, old, fresh]) {
    expect(await stateOf(session?.sessionToken)).toBe(SessionState.LIVE)
  }
})

it('a session whose key was retired at once stays good, is not shown again, and then gives way to a new one', async () => {
  const ask = lookUp()
  const before = await ask()
  const retired = keys().current.keyId
  keys.rotate()
  keys.retire(retired)
  expect(await stateOf(before.session?.sessionToken)).toBe(SessionState.LIVE)
  expect(await refusal(ask())).toBe('SERVICE_UNAVAILABLE')
  harness.testClock.advance(settings.sessionTtlS * 1_000 + 1_000)
  const after = await ask()
  expect(after.session?.sessionToken).not.toBe(before.session?.sessionToken)
  expect((await ask()).session).toEqual(after.session)
})

it('the pages of a history go on from a token that an old key signed', async () => {
  const { account } = await harness.open({ lookupType: LookupType.MOBILE, lookupValue: number })
  const { accountId = '', currency = '' } = account ?? {}
  for (const reference of ['one', 'two', 'three']) {
    const lines = [
      { address: { accountId }, currency, amountMinor: 1n },
      { address: { internal: 'clearing' as const }, currency, amountMinor: -1n },
    ]
    const details = { reference, description: '', method: 'p2p', metadata: {} }
    const transfer = { projectId: harness.projects.demo, transferId: randomUUID(), lines, details }
    await harness.db.transaction((tx) => postTransfer(tx, transfer))
  }
  const page = (pageToken: string) =>
    harness.accounts.listAccountTransactions({
      projectId: harness.projects.demo,
      mobileNumber: number,
      pageSize: 1,
      pageToken,
    })
  const first = await page('')
  keys.rotate()
  const second = await page(first.nextPageToken)
  keys.rotate()
  const third = await page(second.nextPageToken)
  const references = [first, second, third].map(
    ({ transactions }) => transactions[0]?.transactionId,
  )
  expect(references).toEqual(['three', 'two', 'one'])
})
