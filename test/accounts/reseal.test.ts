// Shows on a real database how values at rest come under a new key while accounts works: all of them, once, beside other writers.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sealedUnder } from '#core/identity/seal.ts'
import {
  FundsAccessStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { type Queryable, sql } from '#platform/db/db.ts'
import { countPage } from '#platform/keys/dependants.ts'
import { sealedColumns } from '../../services/accounts/access/domain/at-rest.ts'
import { createInstitution } from '../../services/accounts/access/operations/administer.ts'
import { signingSecrets } from '../../services/accounts/access/operations/institution-keys.ts'
import { accountDependants } from '../../services/accounts/access/operations/key-administration.ts'
import { resealPage } from '../../services/accounts/access/operations/reseal.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys, testKeys } from '../support/keys.ts'
import { type Harness, startHarness } from './harness.ts'

const keys = testKeys('untimed')
const nowhere = 'https://client.example/hook'
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ pepper: fixedKeys(), seal: keys })
})
afterAll(() => harness.stop())

const authorisationToken = () => `token-${randomUUID()}`.slice(0, 40)
const selfie = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(500)])

/** One value of every column, and what proves that each still opens. */
async function oneOfEach() {
  const { demo: projectId } = harness.projects
  const token = authorisationToken()
  async function* parts() {
    yield { part: { case: 'header' as const, value: { projectId, requestId: randomUUID() } } }
    const artefact = { field: 'selfie', mediaType: 'image/png' }
    yield { part: { case: 'artefact' as const, value: artefact } }
    yield { part: { case: 'chunk' as const, value: selfie } }
    const profile = harness.profile({ callbackUrl: nowhere, authorisationToken: token })
    yield {
      part: { case: 'profile' as const, value: { ...profile, details: { dob: '1990-01-31' } } },
    }
  }
  const { account } = await harness.accounts.uploadPersonalAccount(parts())
  const reviewId = await harness.reviewOf(account?.accountId)
  const submission = await eventually(
    () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
  )
  const number = '+12025550100'
  const { challengeId } = await harness.accounts.registerAccount({
    projectId,
    requestId: randomUUID(),
    mobileNumber: number,
    institutionName: 'Demo Wallet',
    firstName: 'Ama',
    lastName: 'Mensah',
    sessionToken: await harness.tokenOf(number),
    authorisationToken: authorisationToken(),
    callbackUrl: nowhere,
  })
  await harness.accounts.createBusinessAccount({
    projectId,
    businessName: 'Kente House',
    firstName: 'Efua',
    lastName: 'Sutherland',
    email: 'efua@kente.example',
    mobileNumber: '+12025550177',
  })
  const { institution, key } = await createInstitution(
    {
      db: harness.db,
      secrets: harness.secrets,
      publishAccessChanged: async () => {},
      notify: () => {},
    },
    { caller: 'test', requestId: undefined },
    `Bank ${randomUUID()}`,
    'sandbox',
  )
  const { institutionId } = institution
  return {
    reviewId,
    async check() {
      expect(await signingSecrets(harness.db, harness.secrets, institutionId)).toEqual([
        key.signingSecret,
      ])
      const artefactId = submission.artefacts[0]?.artefactId ?? ''
      const chunks: Uint8Array[] = []
      for await (const { chunk } of harness.reports.readArtefact({ reviewId, artefactId })) {
        chunks.push(chunk)
      }
      expect(Buffer.concat(chunks).equals(selfie)).toBe(true)
      await harness.reports.reportConsent({ challengeId, answer: RegistrationStatus.APPROVED })
      const value = { accountLevel: 1, fundsAccessStatus: FundsAccessStatus.LIMITED }
      await harness.reports.reportOnboarding({ reviewId, outcome: { case: 'completed', value } })
      expect(await harness.eventsOf(account?.accountId)).toHaveLength(1)
    },
  }
}

type Page = Awaited<ReturnType<typeof resealPage>>

/** Goes through all pages as the command does, from a place on, until a page says to stop. */
async function run({
  from = '',
  checkOnly = false,
  stopAfter = 1_000,
  db = undefined as Queryable | undefined,
} = {}) {
  const pages: Page[] = []
  let pageToken = from
  do {
    const { keyId } = keys().current
    const options = { db: db ?? harness.db, keys }
    const page = await resealPage(options, { pageToken, keyId, checkOnly })
    pages.push(page)
    pageToken = page.nextPageToken
  } while (pageToken !== '' && pages.length < stopAfter)
  const sum = (of: (page: Page) => number) => pages.reduce((all, page) => all + of(page), 0)
  return {
    checked: sum(({ checkedCount }) => checkedCount),
    resealed: sum(({ resealedCount }) => resealedCount),
    left: sum(({ leftCount }) => leftCount),
    unopened: pages.flatMap(({ unopened }) => unopened),
    next: pageToken,
    largest: Math.max(...pages.map(({ checkedCount }) => checkedCount)),
  }
}

/** Under which key and in which form the values of each column are. */
async function forms() {
  const found: Record<string, Set<string>> = {}
  for (const column of sealedColumns) {
    const [table, field] = column.split('.')
    const all = sql(
      `test_forms_${table}_${field}`,
      `select ${field} as sealed from ${table} where ${field} is not null`,
    )
    const rows = await harness.db.rows<{ sealed: string }>(all, [])
    found[column] = new Set(
      rows.map(({ sealed }) => {
        const under = sealedUnder(sealed)
        return `${under?.keyId} ${under?.inRow ? 'row' : 'no row'}`
      }),
    )
  }
  return found
}

const onlyUnder = (keyId: string) =>
  Object.fromEntries(sealedColumns.map((column) => [column, new Set([`${keyId} row`])]))

it('every column comes under the new key and into its row, and then the old key can go', async () => {
  const [one, other] = [await oneOfEach(), await oneOfEach()]
  const old = keys().current.keyId
  expect(Object.values(await forms())).toEqual(sealedColumns.map(() => new Set([`${old} no row`])))
  const newest = keys.rotate()
  const before = await run({ checkOnly: true })
  expect(before.left).toBe(before.checked)
  expect(await forms()).not.toEqual(onlyUnder(newest))
  const resealed = await run()
  expect(resealed).toMatchObject({ resealed: before.left, left: 0, unopened: [] })
  expect(await forms()).toEqual(onlyUnder(newest))
  expect(await run({ checkOnly: true })).toMatchObject({ checked: before.checked, left: 0 })
  expect(await run()).toMatchObject({ checked: before.checked, resealed: 0, left: 0 })
  keys.retire(old)
  await one.check()
  await other.check()
})

it('a run that dies resumes where it was, or from the beginning, and does nothing twice', async () => {
  await oneOfEach()
  const newest = keys.rotate()
  const { left } = await run({ checkOnly: true })
  const died = await run({ stopAfter: 3 })
  expect(died.resealed).toBeGreaterThan(0)
  expect(died.next).not.toBe('')
  const resumed = await run({ from: died.next })
  expect(died.resealed + resumed.resealed).toBe(left)
  expect(await run()).toMatchObject({ resealed: 0, left: 0 })
  expect(await forms()).toEqual(onlyUnder(newest))
})

it('several runs at once, beside accounts at work, leave no value unsealed or unreadable', async () => {
  const before = await Promise.all([oneOfEach(), oneOfEach(), oneOfEach()])
  keys.rotate()
  const [during] = await Promise.all([
    Promise.all([oneOfEach(), oneOfEach()]),
    run(),
    run(),
    before[0]?.check(),
    run(),
  ])
  await run()
  expect(await run({ checkOnly: true })).toMatchObject({ left: 0 })
  for (const one of [...before.slice(1), ...during]) await one.check()
})

it('a row that another transaction has locked is skipped without waiting', async () => {
  const { reviewId } = await oneOfEach()
  keys.rotate()
  const { left } = await run({ checkOnly: true })
  const lock = sql('test_lock', 'select from review where review_id = $1 for update')
  await harness.db.transaction(async (tx) => {
    await tx.run(lock, [reviewId])
    // Both values of the review.
    expect(await run()).toMatchObject({ resealed: left - 2, left: 2 })
  })
  expect(await run()).toMatchObject({ resealed: 2, left: 0 })
})

it('a value that changed after it was read stays as it became', async () => {
  const { reviewId } = await oneOfEach()
  keys.rotate()
  const end = sql(
    'test_end_token',
    'update review set authorisation_token_sealed = null where review_id = $1',
  )
  // Between the read of the page and its replacement.
  const db: Queryable = {
    rows: async <T>(...[statement, values]: Parameters<Queryable['rows']>) => {
      const rows = await harness.db.rows<T>(statement, values)
      if (statement.name.includes('review_authorisation')) await harness.db.run(end, [reviewId])
      return rows
    },
    row: (statement, values) => harness.db.row(statement, values),
    run: (statement, values) => harness.db.run(statement, values),
  }
  expect(await run({ db })).toMatchObject({ left: 1, unopened: [] })
  const read = sql(
    'test_token',
    'select authorisation_token_sealed as token from review where review_id = $1',
  )
  expect(await harness.db.row(read, [reviewId])).toEqual({ token: null })
  expect(await run({ checkOnly: true })).toMatchObject({ left: 0 })
})

it('a value that no key opens is named, stays as it is, and stops nothing', async () => {
  const { reviewId } = await oneOfEach()
  const { reviewId: foreign } = await oneOfEach()
  await run()
  const put = sql('test_put_details', 'update review set details_sealed = $2 where review_id = $1')
  const get = sql(
    'test_get_details',
    'select details_sealed as sealed from review where review_id = $1',
  )
  const sealedOf = async (id: string) =>
    (await harness.db.row<{ sealed: string }>(get, [id]))?.sealed
  const own = await sealedOf(reviewId)
  await harness.db.run(put, [reviewId, await sealedOf(foreign)])
  keys.rotate()
  const { left } = await run({ checkOnly: true })
  const done = await run()
  expect(done).toMatchObject({ resealed: left - 1, left: 0 })
  expect(done.unopened).toEqual([{ column: 'review.details_sealed', rowId: reviewId }])
  await harness.db.run(put, [reviewId, own])
  expect(await run()).toMatchObject({ resealed: 1, left: 0, unopened: [] })
})

it('a process that has not read the new key seals nothing', async () => {
  const stale = keys.asOfNow()
  const newest = keys.rotate()
  const asked = { pageToken: '', keyId: newest, checkOnly: false }
  const page = resealPage({ db: harness.db, keys: stale }, asked)
  await expect(page).rejects.toMatchObject({ reason: 'KEY_NOT_CURRENT' })
  for (const pageToken of ['x', Buffer.from('99 ').toString('base64url')]) {
    const wrong = resealPage({ db: harness.db, keys }, { ...asked, pageToken })
    await expect(wrong).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
  }
})

it('pages have at most 200 values, however many there are', async () => {
  const many = sql(
    'test_many',
    `insert into artefact (artefact_id, project_id, field, media_type, key_sealed)
     select gen_random_uuid(), $1, 'selfie', 'image/png', $2 from generate_series(1, 450)`,
  )
  await harness.db.run(many, [harness.projects.demo, 'AQAAAAAA'])
  const done = await run()
  expect(done.largest).toBe(200)
  expect(done.unopened.length).toBeGreaterThanOrEqual(450)
  await harness.db.run(
    sql('test_remove_many', `delete from artefact where key_sealed = 'AQAAAAAA'`),
    [],
  )
})

it('what depends on a key is counted, and nothing more once it is sealed anew', async () => {
  await oneOfEach()
  const old = keys().current.keyId
  const sources = accountDependants(harness.db)['seal.key'] ?? []
  const count = async (keyId: string) => {
    let found = 0
    let token = ''
    do {
      const page = await countPage(sources, keys(), token)
      for (const one of page.dependants) if (one.keyId === keyId) found += one.count
      token = page.nextPageToken
    } while (token !== '')
    return found
  }
  const { checked } = await run()
  keys.rotate()
  expect(await count(old)).toBe(checked)
  await run()
  expect(await count(old)).toBe(0)
})
