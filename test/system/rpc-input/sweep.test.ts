// Sends every method a good request with one bad field, for every field and in every way that its type allows: no answer may be
// an error of ours, and what breaks a rule is refused by its name and changes nothing. What a strange value leaves is not read.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { silentLog } from '../../support/database.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { internalTeam } from '../tools/grpc.ts'
import { backendRequests } from './backend-requests.ts'
import { callers, jsonOf, type Outcome, type Target } from './calls.ts'
import { contentOf } from './content.ts'
import type { Facts, Requests } from './facts.ts'
import { furtherConnector, otherRequests } from './more-requests.ts'
import { bytesOf, hostileShare, type Mutation, sweepOf } from './mutations.ts'
import { accountsRequests } from './requests.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const width = 8
/** One in this many mutations is also sent over JSON and gRPC, and so is each end of a range. */
const sample = 9
const ends = new Set(['first', 'last', 'lowest', 'highest'])

let mesh: Mesh
let facts: Facts
let methods: Swept[]
const call = callers()

beforeAll(async () => {
  const CONNECTORS = JSON.stringify({ [furtherConnector]: 'http://127.0.0.1:1' })
  mesh = await startMesh({ name: 'input', settings: { CONNECTORS } })
  facts = await readFacts()
  const services = await ownServices()
  methods = services.flatMap((service) => service.methods.flatMap(sweptMethods))
})
afterAll(async () => {
  await call.close()
  await mesh?.remove()
})

/** A method at one of the processes that serve it. */
type Swept = { name: string; method: DescMethod; target: Target }

async function ownServices(): Promise<DescService[]> {
  const files = globSync('gen/payweave/*/v1/*_pb.js', { cwd: root })
  const modules = await Promise.all(
    files.map(async (file) => (await import(join(root, file))) as Record<string, unknown>),
  )
  return modules
    .flatMap((module) => Object.values(module))
    .filter((one): one is DescService => (one as DescService | undefined)?.kind === 'service')
}

async function readFacts(): Promise<Facts> {
  const team = internalTeam(mesh)
  const { subscription_key: subscriptionKey, api_key: apiKey } = mesh.sandbox.projects.demo
  const environment = Environment.SANDBOX
  const projectId = await team.projectId(subscriptionKey)
  const [{ merchant }, { institutions }, { account, session }] = await Promise.all([
    team.access.authenticateApiKey({ projectId, apiKey }),
    team.access.listInstitutions({ name: 'Demo Wallet', environment }),
    team.accounts.openSession({
      projectId,
      lookupType: LookupType.MOBILE,
      lookupValue: '+12025550100',
    }),
  ])
  team.close()
  return {
    projectId,
    merchantId: merchant?.merchantId ?? '',
    institutionId: institutions[0]?.institutionId ?? '',
    accountId: account?.accountId ?? '',
    sessionToken: session?.sessionToken ?? '',
    subscriptionKey,
    apiKey,
  }
}

function goodRequests(): Requests {
  return { ...accountsRequests(facts), ...otherRequests(facts), ...backendRequests() }
}

const secretMethod = 'payweave.accounts.v1.AccessService/GetSigningSecrets'

function sweptMethods(method: DescMethod): Swept[] {
  const { grpc, grpc_token: bearer } = mesh.sandbox
  const name = `${method.parent.typeName}/${method.name}`
  const part = name.split('.')[1] ?? ''
  const urls: Record<string, string[]> = {
    ...Object.fromEntries(Object.entries(grpc).map(([key, url]) => [key, [url]])),
    backend: [`http://127.0.0.1:${mesh.portBase + 7}`],
    events: [grpc.accounts, grpc.delivery],
    keys: [grpc.accounts],
    clock: [grpc.payments],
  }
  const dir = join(mesh.dataDir, 'secrets', 'delivery')
  const delivery = openIdentity({ name: 'delivery', dir, log: silentLog })
  const authorization = () =>
    name === secretMethod ? delivery.authorization('accounts') : `Bearer ${bearer}`
  return (urls[part] ?? []).map((url) => ({ name, method, target: { url, authorization } }))
}

function requestsOf({ name }: Swept): Message[] {
  return goodRequests()[name]?.() ?? []
}

/** Credentials: what is wrong with them is for their handlers to say, and they say the same to all of it. */
const credentials =
  /^(subscription_key|api_key|session_token|session_token_sealed|link_token|receipt_token|token)$/
/** Ids that are not ours to give: those of clients and back ends, texts that we made up, and what one of them named. */
const foreignIds =
  /(\.transaction_id|organization_id|client_receipt_id|institution_receipt_id|subject_id|\.attempt_id|CreateTransactionRequest\.quote_id|ListAuditRequest\.target_id)$/

const isOpaque = ({ name }: DescField) => credentials.test(name)
const isId = (field: DescField) =>
  /_ids?$/.test(field.name) &&
  (!foreignIds.test(`${field.parent.typeName}.${field.name}`) ||
    field.parent.typeName === 'payweave.backend.v1.PayWithWalletRequest' ||
    field.parent.typeName === 'payweave.backend.v1.GetAttemptRequest')
const fieldFacts = { isOpaque, isId }

type Case = Swept & { index: number; mutation: Mutation }

function casesOf(swept: Swept): Case[] {
  return requestsOf(swept).flatMap((_, index) => {
    const remake = () => requestsOf(swept)[index] as Message
    const { mutations } = sweepOf(swept.method.input, remake, fieldFacts)
    return mutations.map((mutation) => ({ ...swept, index, mutation }))
  })
}

/** A stream of requests begins with the good ones before it. */
function send(swept: Swept, index: number, bytes: Uint8Array): Promise<Outcome> {
  const { method, target } = swept
  if (method.methodKind === 'unary') return call.binary(method, target, bytes)
  const before = requestsOf(swept).slice(0, index)
  const parts =
    method.methodKind === 'client_streaming'
      ? before.map((message) => toBinary(method.input, message))
      : []
  return call.grpc(method, target, [...parts, bytes])
}

/** What is wrong with an answer to a bad request; undefined when nothing is. */
function problemOf({ field, kind, expected }: Mutation, outcome: Outcome): string | undefined {
  const { code, reason, fields } = outcome
  const said = `${field} ${kind}: ${code} ${reason} [${fields.join()}] ${outcome.message}`
  if (code === 'internal' || code === 'unknown') return said
  if (code !== 'ok' && reason === undefined) return `${said} (no ErrorInfo)`
  if (expected === 'undecodable') {
    return code === 'invalid_argument' && fields.length === 0 ? undefined : said
  }
  if (expected === 'refused') {
    // A rule of the whole may be broken with the part: "amount" with "amount.minor_units".
    const isNamed = fields.includes(field) && fields.every((one) => field.startsWith(one))
    return code === 'invalid_argument' && isNamed ? undefined : said
  }
  return code === 'invalid_argument' && fields.length === 0 ? `${said} (no field)` : undefined
}

type Way = 'binary' | 'json' | 'grpc'

async function sendBy(way: Way, { mutation, index, ...swept }: Case): Promise<Outcome | undefined> {
  const { method, target } = swept
  const bytes = () => bytesOf(method.input, mutation)
  if (way === 'binary') return send(swept, index, bytes())
  if (method.methodKind !== 'unary') return undefined
  if (way === 'grpc') return call.grpc(method, target, [bytes()])
  const isText = mutation.expected !== 'undecodable'
  const text = isText ? jsonOf(method.input, mutation.make()) : undefined
  return text === undefined ? undefined : call.json(method, target, text)
}

/** Sends cases by every way and collects what is wrong with the answers. */
async function problemsOf(cases: Case[]): Promise<{ calls: number; problems: string[] }> {
  const problems: string[] = []
  let calls = 0
  const queue = cases.entries()
  const work = async () => {
    for (const [place, one] of queue) {
      const isSampled = place % sample === 0 || ends.has(one.mutation.kind)
      const ways: Way[] = isSampled ? ['binary', 'json', 'grpc'] : ['binary']
      for (const way of ways) {
        const outcome = await sendBy(way, one)
        if (outcome === undefined) continue
        calls += 1
        const problem = problemOf(one.mutation, outcome)
        if (problem !== undefined) problems.push(`${way} ${one.name} ${problem}`)
      }
    }
  }
  await Promise.all(Array.from({ length: width }, work))
  return { calls, problems }
}

function fieldsIn(type: DescMessage, found = new Set<string>()): Set<string> {
  if (type.typeName.startsWith('google.')) return found
  for (const field of type.fields) {
    const name = `${type.typeName}.${field.name}`
    if (found.has(name)) continue
    found.add(name)
    if (field.message !== undefined) fieldsIn(field.message, found)
  }
  return found
}

it('every field of every method is swept', () => {
  expect(new Set(methods.map(({ name }) => name)).size).toBeGreaterThanOrEqual(108)
  for (const swept of methods) {
    const { input } = swept.method
    const reached = new Set<string>()
    for (const request of requestsOf(swept)) {
      for (const field of sweepOf(input, () => request, fieldFacts).reached) reached.add(field)
    }
    const missed = [...fieldsIn(input)].filter((field) => !reached.has(field))
    expect([swept.name, requestsOf(swept).length > 0, missed]).toEqual([swept.name, true, []])
  }
})

/** Thousands of calls; with all hostile texts in all fields ten times as many. */
const timeout = 240_000 * Math.ceil(20 / hostileShare)

it('a bad value is refused by the name of its field and changes nothing', { timeout }, async ({
  annotate,
}) => {
  const before = await contentOf(mesh)
  const bad = methods.flatMap(casesOf).filter(({ mutation }) => mutation.expected !== 'sane')
  const { calls, problems } = await problemsOf(bad)
  await annotate(`${calls} calls with a bad value to ${methods.length} methods`)
  expect(problems).toEqual([])
  expect(await contentOf(mesh)).toEqual(before)
})

it('a lone surrogate in JSON is refused as undecodable', async () => {
  const name = 'payweave.payments.v1.PaymentsService/GetPayment'
  const swept = methods.find((one) => one.name === name)
  if (swept === undefined) throw new Error('there is no such method')
  const text = '{"projectId": "\\ud800"}'
  expect(await call.json(swept.method, swept.target, text)).toMatchObject({
    code: 'invalid_argument',
    fields: [],
  })
})

it('a good request is not refused for a field', async () => {
  const refused: string[] = []
  for (const swept of methods) {
    const requests = requestsOf(swept)
    for (const [index, request] of requests.entries()) {
      // Without its last message, a stream is none that a client would send.
      const isStream = swept.method.methodKind === 'client_streaming'
      if (isStream && index < requests.length - 1) continue
      const { code, fields } = await send(swept, index, toBinary(swept.method.input, request))
      if (code === 'invalid_argument') refused.push(`${swept.name} ${index} ${fields.join()}`)
    }
  }
  // A page token has to be one that the service signed, and a hold is never of an internal account.
  expect(refused).toEqual([
    'payweave.accounts.v1.AccountsService/ListAccountTransactions 1 page_token',
    'payweave.accounts.v1.LedgerService/CreateHold 2 address',
  ])
})

it('an extreme or strange value is never an error of ours', { timeout }, async ({ annotate }) => {
  const odd = methods.flatMap(casesOf).filter(({ mutation }) => mutation.expected === 'sane')
  const { calls, problems } = await problemsOf(odd)
  await annotate(`${calls} calls with an extreme value to ${methods.length} methods`)
  expect(problems).toEqual([])
})
