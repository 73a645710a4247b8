// Shows over RPC, on a real database, what operators see and repeat, and that the audit misses no change.
import { randomUUID } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { grantableEndpoints } from '#core/identity/endpoints.ts'
import {
  AccessService,
  Environment,
  KeyState,
  type ListAuditRequestSchema,
} from '#gen/payweave/accounts/v1/access_pb.js'
import { runWithContext } from '#platform/rpc/context.ts'
import { microsOfTimestamp, timestampFromMicros } from '#platform/rpc/timestamps.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { type AccessHarness, startAccess } from '../../../../test/accounts/access-harness.ts'

const environment = Environment.SANDBOX
const mobileNumber = '+12025550123'
let harness: AccessHarness
let access: Client<typeof AccessService>
let asPerson: Client<typeof AccessService>

beforeAll(async () => {
  harness = await startAccess('launcher', 'console')
  access = harness.clientOf('launcher')
  asPerson = harness.clientOf('console')
})
afterAll(() => harness.close())

async function newProject(): Promise<string> {
  const { project } = await access.createProject({ name: `Project ${randomUUID()}`, environment })
  return project?.projectId ?? ''
}

async function newMerchant(projectId: string) {
  return access.createMerchant({ projectId, businessName: 'Shop', mobileNumber })
}

async function newInstitution(): Promise<string> {
  const name = `Bank ${randomUUID()}`
  const { institution } = await access.createInstitution({ name, environment })
  return institution?.institutionId ?? ''
}

async function refusal(call: Promise<unknown>): Promise<Failure> {
  const error: unknown = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof Failure) return error
  throw error
}

describe('an institution', () => {
  it('an institution keeps its accounts in the currency that it was made with, or in USD', async () => {
    const make = (name: string, defaultCurrency?: string) =>
      access.createInstitution({ name, environment, defaultCurrency })
    const [plain, other] = [await make('Dollar Bank'), await make('Cedi Bank', 'GHS')]
    expect(plain.institution?.defaultCurrency).toBe('USD')
    const { institutionId = '' } = other.institution ?? {}
    const { institution } = await access.getInstitution({ institutionId })
    expect(institution?.defaultCurrency).toBe('GHS')
    for (const code of ['XAU', 'usd', 'DOLLAR']) {
      expect((await refusal(make(`${code} Bank`, code))).reason).toBe('INVALID_PARAMETER')
    }
  })
})

describe('a bad value', () => {
  it.each([
    ['MISSING_PARAMETER name', { name: '' }],
    ['INVALID_PARAMETER name', { name: 'a\u0000b' }],
    ['INVALID_PARAMETER name', { name: 'x'.repeat(101) }],
    ['MISSING_PARAMETER environment', { environment: 0 }],
    ['INVALID_PARAMETER environment', { environment: 9 }],
    ['INVALID_PARAMETER request_id', { requestId: 'once' }],
  ])('a bad value is refused with %s and makes no project', async (expected, bad) => {
    const names = async () => (await access.listProjects({})).projects.map(({ name }) => name)
    const before = await names()
    const call = access.createProject({ name: 'Fine', environment, ...bad })
    const { reason, details } = await refusal(call)
    expect(`${reason} ${details['field']}`).toBe(expected)
    expect(await names()).toEqual(before)
  })
})

describe('a request with an id of its own', () => {
  it('a request with an id of its own makes one project, however often and at once it is sent', async () => {
    const asked = { name: 'Once', environment, requestId: randomUUID() }
    const answers = await Promise.all([1, 2, 3, 4].map(() => access.createProject(asked)))
    expect(new Set(answers.map(({ project }) => project?.projectId)).size).toBe(1)
    const { projects } = await access.listProjects({ name: 'Once' })
    expect(projects).toHaveLength(1)
  })

  it('a request with an id of its own shows a secret to its first sender alone, and names what it made to the others', async () => {
    const projectId = await newProject()
    const institutionId = await newInstitution()
    const { merchant } = await newMerchant(projectId)
    const merchantId = merchant?.merchantId ?? ''
    const requestId = () => ({ requestId: randomUUID() })
    const issue = { projectId, ...requestId() }
    const make = { projectId, businessName: 'Shop', mobileNumber, ...requestId() }
    const found = { name: 'Once Bank', environment, ...requestId() }
    const rotate = { institutionId, ...requestId() }
    const add = { projectId, merchantId, ...requestId() }
    const keyOf = ({ key }: { key?: { keyId: string } }) => ({ keyId: key?.keyId ?? '' })
    const calls: (() => Promise<{ keyId: string }>)[] = [
      () => access.issueSubscriptionKey(issue),
      () => access.createMerchant(make),
      () => access.issueApiKey(add),
      () => access.createInstitution(found).then(keyOf),
      () => access.rotateInstitutionKey(rotate).then(keyOf),
    ]
    for (const call of calls) {
      const { keyId } = await call()
      const { reason, details } = await refusal(call())
      expect(reason).toBe('REQUEST_DONE')
      expect(details).toMatchObject({ key_id: keyId })
      expect(details['target_id']).not.toBe('')
    }
    const { keys } = await access.listSubscriptionKeys({ projectId })
    expect(keys).toHaveLength(1)
    const [{ keyId } = { keyId: '' }] = keys
    expect((await access.listSubscriptionKeys({ projectId, keyId })).keys).toEqual(keys)
    expect((await access.listApiKeys({ projectId, keyId })).keys).toEqual([])
    const [one] = (await access.listApiKeys({ projectId })).keys
    const ofOne = { projectId, keyId: one?.keyId ?? '' }
    expect((await access.listApiKeys(ofOne)).keys).toEqual([one])
    expect((await access.listSubscriptionKeys(ofOne)).keys).toEqual([])
  })

  it('a request with an id of its own is refused with other content, and may be sent again when it made nothing', async () => {
    const [projectId, other] = [await newProject(), await newProject()]
    const requestId = randomUUID()
    const first = await access.issueSubscriptionKey({ projectId })
    await access.issueSubscriptionKey({ projectId })
    const third = await refusal(access.issueSubscriptionKey({ projectId, requestId }))
    expect(third.reason).toBe('TOO_MANY_KEYS')
    await access.revokeSubscriptionKey({ keyId: first.keyId })
    await access.issueSubscriptionKey({ projectId, requestId })
    const reused = await refusal(access.issueSubscriptionKey({ projectId: other, requestId }))
    expect(reused.reason).toBe('REQUEST_ID_REUSED')
    const malformed = await refusal(access.issueSubscriptionKey({ projectId, requestId: 'x' }))
    expect(malformed.details['field']).toBe('request_id')
  })
})

describe('keys of projects', () => {
  it('a key is revoked by its id within the project that the request or the credential names', async () => {
    const [projectId, other] = [await newProject(), await newProject()]
    const { keyId } = await access.issueSubscriptionKey({ projectId })
    const { keyId: apiKeyId } = await newMerchant(projectId)
    const within = { projectId: other }
    const first = await refusal(access.revokeSubscriptionKey({ keyId, ...within }))
    const second = await refusal(access.revokeApiKey({ keyId: apiKeyId, ...within }))
    expect([first.reason, second.reason]).toEqual(['KEY_NOT_FOUND', 'KEY_NOT_FOUND'])
    const keys = async () => [
      ...(await access.listSubscriptionKeys({ projectId })).keys,
      ...(await access.listApiKeys({ projectId })).keys,
    ]
    // A person of the other project, who names none: the one of their token counts.
    const memberships = [{ role: 'merchant_developer' as const, projectId: other }]
    const person = { id: 'ama@example.com', memberships }
    const acting = { person, projectId: other, sessionId: randomUUID() }
    const context = { requestId: randomUUID(), traceparent: newTraceparent(), acting }
    await runWithContext(context, async () => {
      const third = await refusal(asPerson.revokeSubscriptionKey({ keyId }))
      const fourth = await refusal(asPerson.revokeApiKey({ keyId: apiKeyId }))
      expect([third.reason, fourth.reason]).toEqual(['KEY_NOT_FOUND', 'KEY_NOT_FOUND'])
    })
    expect((await keys()).map(({ revokeTime }) => revokeTime)).toEqual([undefined, undefined])
    await access.revokeSubscriptionKey({ keyId, projectId })
    await access.revokeApiKey({ keyId: apiKeyId, projectId })
    expect((await keys()).every(({ revokeTime }) => revokeTime !== undefined)).toBe(true)
  })

  it('a repeat of the revocation of a key keeps the first time and writes no audit entry', async () => {
    const projectId = await newProject()
    const { keyId } = await access.issueSubscriptionKey({ projectId })
    const { keyId: apiKeyId } = await newMerchant(projectId)
    const revokeBoth = async () => {
      const first = await access.revokeSubscriptionKey({ keyId })
      const second = await access.revokeApiKey({ keyId: apiKeyId, projectId })
      return [first.revokeTime, second.revokeTime]
    }
    const written = async () => (await access.listAudit({ projectId })).entries
    const times = await revokeBoth()
    const before = await written()
    expect(await revokeBoth()).toEqual(times)
    expect(await written()).toEqual(before)
  })
})

it('grants that are there, or that are not, leave no audit entry', async () => {
  const [projectId, institutionId] = [await newProject(), await newInstitution()]
  const grant = { projectId, institutionId, endpoints: [grantableEndpoints[0] ?? ''] }
  for (const change of [access.grantEndpoints, access.revokeGrants]) {
    await change(grant)
    const before = await newest()
    await change(grant)
    expect(await newest()).toBe(before)
  }
})

describe('what operators read', () => {
  it('operators list projects and institutions page by page, and by name', async () => {
    const ids = [await newProject(), await newProject(), await newProject()]
    const seen: string[] = []
    let pageToken = ''
    do {
      const page = await access.listProjects({ environment, pageSize: 2, pageToken })
      expect(page.projects.length).toBeLessThanOrEqual(2)
      seen.push(...page.projects.map(({ projectId }) => projectId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(seen).toEqual(expect.arrayContaining(ids))
    expect(new Set(seen).size).toBe(seen.length)
    const none = await access.listProjects({ environment: Environment.PRODUCTION })
    expect(none.projects).toEqual([])
    const institutionId = await newInstitution()
    const { institution, liveKeys } = await access.getInstitution({ institutionId })
    expect(liveKeys).toHaveLength(1)
    const { institutions } = await access.listInstitutions({ name: institution?.name ?? '' })
    expect(institutions).toEqual([institution])
    await newInstitution()
    const ofId = await access.listInstitutions({ institutionId })
    expect(ofId.institutions).toEqual([institution])
  })

  it('operators list keys by id and dates, and API keys of a merchant that rotates', async () => {
    const projectId = await newProject()
    const issued = await access.issueSubscriptionKey({ projectId })
    await access.revokeSubscriptionKey({ keyId: issued.keyId })
    const { keys } = await access.listSubscriptionKeys({ projectId })
    expect(keys).toMatchObject([{ keyId: issued.keyId, issueTime: issued.issueTime }])
    expect(keys[0]?.revokeTime).toBeDefined()
    expect(JSON.stringify(keys, (_, value) => String(value))).not.toContain(issued.subscriptionKey)
    const { merchant, keyId, apiKey } = await newMerchant(projectId)
    const merchantId = merchant?.merchantId ?? ''
    const second = await access.issueApiKey({ projectId, merchantId })
    for (const key of [apiKey, second.apiKey]) {
      const found = await access.authenticateApiKey({ projectId, apiKey: key })
      expect(found.merchant?.merchantId).toBe(merchantId)
    }
    const third = await refusal(access.issueApiKey({ projectId, merchantId }))
    expect(third.reason).toBe('TOO_MANY_KEYS')
    await access.revokeApiKey({ keyId })
    const apiKeys = (await access.listApiKeys({ projectId, merchantId })).keys
    expect(apiKeys.map((key) => [key.keyId, key.revokeTime === undefined])).toEqual([
      [second.keyId, true],
      [keyId, false],
    ])
    const inState = async (state: KeyState) => {
      const [ofProject, ofMerchants] = await Promise.all([
        access.listSubscriptionKeys({ projectId, state }),
        access.listApiKeys({ projectId, state }),
      ])
      return [...ofProject.keys, ...ofMerchants.keys].map((key) => key.keyId)
    }
    expect(await inState(KeyState.ACTIVE)).toEqual([second.keyId])
    expect(await inState(KeyState.REVOKED)).toEqual([issued.keyId, keyId])
    const elsewhere = { projectId: await newProject(), merchantId }
    expect((await refusal(access.issueApiKey(elsewhere))).reason).toBe('MERCHANT_NOT_FOUND')
  })

  it('operators list the merchants of one project alone, page by page', async () => {
    const projectId = await newProject()
    await newMerchant(await newProject())
    const made = []
    for (let count = 0; count < 3; count += 1) made.push((await newMerchant(projectId)).merchant)
    const first = await access.listMerchants({ projectId, pageSize: 2 })
    const rest = await access.listMerchants({ projectId, pageToken: first.nextPageToken })
    expect(first.merchants).toHaveLength(2)
    expect([...first.merchants, ...rest.merchants]).toEqual(made)
    expect(rest.nextPageToken).toBe('')
  })

  it('an update by operators changes only what the mask names', async () => {
    const projectId = await newProject()
    await access.updateProjectAccess({ projectId, accountAccess: true, allowedIps: ['10.0.0.1'] })
    const { project } = await access.updateProjectAccess({
      projectId,
      allowedIps: ['203.0.113.0/24'],
      updateMask: { paths: ['allowed_ips'] },
    })
    expect(project).toMatchObject({ accountAccess: true, allowedIps: ['203.0.113.0/24'] })
    const unknown = { projectId, updateMask: { paths: ['name'] } }
    expect((await refusal(access.updateProjectAccess(unknown))).details['field']).toBe(
      'update_mask',
    )
  })

  it.each([
    ['an unknown project', () => access.getProject({ projectId: randomUUID() })],
    ['keys of an unknown project', () => access.listSubscriptionKeys({ projectId: randomUUID() })],
    ['merchants of an unknown project', () => access.listMerchants({ projectId: randomUUID() })],
    ['a malformed id', () => access.getInstitution({ institutionId: 'x' })],
    ['a page that is too large', () => access.listAudit({ pageSize: 201 })],
    ['a page token of nobody', () => access.listAudit({ pageToken: 'x' })],
  ])('the lists of operators refuse %s', async (_what, call) => {
    expect((await refusal(call())).reason).toMatch(/NOT_FOUND|INVALID_PARAMETER/)
  })
})

describe('the audit', () => {
  it('the audit has an entry for every RPC that changes something, and says who, when and what', async () => {
    const reads = /^(Get|List|Check|Authenticate)/
    const changing = AccessService.methods.filter(({ name }) => !reads.test(name))
    const entries = await everyChange()
    expect(entries.map(({ action }) => action).toSorted()).toEqual(
      changing.map(({ name }) => snakeCase(name)).toSorted(),
    )
    for (const entry of entries) {
      expect(entry).toMatchObject({ caller: 'launcher', requestId: expect.stringMatching(/-/) })
      expect(entry.occurTime).toBeDefined()
      expect(entry.targetId).not.toBe('')
    }
  })

  it('the audit is read page by page, newest first, of all or of one project', async () => {
    const projectId = await newProject()
    await access.updateProjectAccess({ projectId })
    const first = await access.listAudit({ projectId, pageSize: 1 })
    expect(first.entries.map(({ action }) => action)).toEqual(['update_project_access'])
    const pageToken = first.nextPageToken
    const second = await access.listAudit({ projectId, pageSize: 1, pageToken })
    expect(second.entries.map(({ action }) => action)).toEqual(['create_project'])
    expect(second.nextPageToken).toBe('')
    expect((await access.listAudit({ pageSize: 1 })).entries).toEqual(first.entries)
  })

  it('the audit is filtered by caller, by what was changed and by time, alone and together', async () => {
    const projectId = await newProject()
    const { keyId } = await access.issueSubscriptionKey({ projectId })
    await access.revokeSubscriptionKey({ keyId })
    const actions = async (filter: MessageInitShape<typeof ListAuditRequestSchema>) =>
      (await access.listAudit({ projectId, ...filter })).entries.map(({ action }) => action)
    const [revoked, issued] = (await access.listAudit({ projectId })).entries
    const startTime = revoked?.occurTime
    expect(issued?.action).toBe('issue_subscription_key')
    if (startTime === undefined) throw new Error('an entry without its time')
    const ofKey = ['revoke_subscription_key', 'issue_subscription_key']
    const after = timestampFromMicros(microsOfTimestamp(startTime) + 1n)
    expect(await actions({ targetId: keyId })).toEqual(ofKey)
    expect(await actions({ caller: 'launcher' })).toEqual([...ofKey, 'create_project'])
    expect(await actions({ caller: 'launche' })).toEqual([])
    expect(await actions({ caller: 'console:ama@example.com', targetId: keyId })).toEqual([])
    expect(await actions({ startTime })).toEqual(['revoke_subscription_key'])
    expect(await actions({ startTime: after })).toEqual([])
    expect(await actions({ endTime: startTime })).not.toContain('revoke_subscription_key')
    expect(await actions({ endTime: after })).toContain('revoke_subscription_key')
    const first = await access.listAudit({ targetId: keyId, pageSize: 1 })
    const { nextPageToken: pageToken } = first
    const second = await access.listAudit({ targetId: keyId, pageSize: 1, pageToken })
    expect([...first.entries, ...second.entries].map(({ action }) => action)).toEqual(ofKey)
    expect(second.nextPageToken).toBe('')
  })
})

/** Makes each kind of change once; the audit entries that they left. */
async function everyChange() {
  const before = await newest()
  const projectId = await newProject()
  await access.updateProjectAccess({ projectId, accountAccess: true })
  const { keyId } = await access.issueSubscriptionKey({ projectId })
  await access.revokeSubscriptionKey({ keyId })
  const { merchant, keyId: apiKeyId } = await newMerchant(projectId)
  const merchantId = merchant?.merchantId ?? ''
  await access.updateMerchant({ projectId, merchantId, color: '#0b57d0' })
  await access.issueApiKey({ projectId, merchantId })
  await access.revokeApiKey({ keyId: apiKeyId })
  const institutionId = await newInstitution()
  await access.rotateInstitutionKey({ institutionId })
  const grant = { projectId, institutionId, endpoints: [...grantableEndpoints] }
  await access.grantEndpoints(grant)
  const { grants } = await access.listGrants({ projectId, institutionId })
  expect(grants.map(({ endpoint }) => endpoint)).toEqual(grantableEndpoints.toSorted())
  const { keys } = await access.listSigningKeys({ projectId })
  expect(keys.map((key) => [key.institutionId, key.isNewest])).toEqual([
    [institutionId, true],
    [institutionId, false],
  ])
  await access.revokeGrants(grant)
  expect((await access.listSigningKeys({ projectId })).keys).toEqual([])
  expect((await access.listGrants({ projectId })).grants).toEqual([])
  const { entries } = await access.listAudit({ pageSize: 200 })
  const end = entries.findIndex(({ auditId }) => auditId === before)
  return end === -1 ? entries : entries.slice(0, end)
}

async function newest(): Promise<string | undefined> {
  return (await access.listAudit({ pageSize: 1 })).entries[0]?.auditId
}

function snakeCase(name: string): string {
  return name.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
}
