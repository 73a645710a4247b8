// Accounts of the load: new people, new merchants and consents, with what their client was promised by the answers.
import { randomInt, randomUUID } from 'node:crypto'
import { institutionName, type Json, openSession } from './api.ts'
import type { Clients } from './payments.ts'
import type { Kind, Operation } from './records.ts'

const ama = { mobile_number: '+12025550100', first_name: 'Ama', last_name: 'Mensah' }
/** Refuses every consent. */
const akosua = { mobile_number: '+12025550111', first_name: 'Akosua', last_name: 'Badu' }

/** Not by the seed: two runs on the same data would take the same numbers. */
function newNumber(): string {
  return `+1246${randomInt(2_000_000, 9_999_999)}`
}

function timesSent({ tries }: Operation, name: string): number {
  return tries.filter(({ route }) => route.endsWith(name)).length
}

const document = `%PDF-1.7\n${'x'.repeat(2_000)}`

/** A person, whose onboarding the back end completes, half of them with documents. Each request makes a profile. */
async function openAccount(clients: Clients, operation: Operation): Promise<void> {
  const { api, onboarding, random } = clients
  const requestId = randomUUID()
  const fields = {
    first_name: 'Efua',
    last_name: 'Sutherland',
    email: `${operation.id}@example.com`,
    mobile_number: newNumber(),
    institution_name: institutionName,
    ...onboarding,
  }
  const files = { id_document1_file: document, poa_file: document }
  const { status, body, text } = await api.clear(operation, {
    method: 'POST',
    path: '/account/personal_account',
    headers: { 'PW-request-id': requestId },
    ...(random.next() < 0.5 ? { body: fields } : { form: { fields, files } }),
  })
  const wasUnclear = operation.tries.length > 1
  // The profile of an unclear answer was completed meanwhile, or the number is somebody's.
  if (body['errorCode'] === 'ACCOUNT_EXISTS') return
  if (status !== 200) throw new Error(`personal account: ${status} ${text.slice(0, 300)}`)
  operation.resultId = String((body['data'] as Json)['account_id'])
  // A profile of an unclear answer may be completed first, and this one is rejected then.
  const outcomes = ['completed', ...(wasUnclear ? ['rejected'] : [])]
  operation.onboarding = { requestId, outcomes, max: timesSent(operation, 'personal_account') }
}

/** A merchant; its key works at once. */
async function openBusiness(clients: Clients, operation: Operation): Promise<void> {
  const { api } = clients
  const made = await api.accepted(operation, {
    method: 'POST',
    path: '/account/business_account',
    body: {
      business_name: operation.id,
      first_name: 'Efua',
      last_name: 'Sutherland',
      email: `${operation.id}@example.com`,
      mobile_number: newNumber(),
    },
  })
  const key = String(made['api_key'])
  const { payments } = await api.accepted(operation, {
    method: 'GET',
    path: '/payments/list',
    version: '2026-12-01',
    query: { api_key: key },
  })
  if ((payments as Json[]).length !== 0) throw new Error('a new merchant has payments')
  operation.resultId = operation.id
  operation.merchantKey = key
}

/** The holder of an account is asked for consent. */
async function askConsent(clients: Clients, operation: Operation): Promise<void> {
  const { api, random, onboarding } = clients
  const isRefused = random.next() < 0.3
  const holder = isRefused ? akosua : ama
  const requestId = randomUUID()
  const session_token = await openSession(api, operation, holder.mobile_number)
  const answer = await api.accepted(operation, {
    method: 'POST',
    path: '/account/register_account',
    headers: { 'PW-request-id': requestId },
    body: { ...holder, institution_name: institutionName, session_token, ...onboarding },
  })
  operation.resultId = String(answer['challengeId'])
  const outcomes = [isRefused ? 'rejected' : 'approved']
  operation.onboarding = { requestId, outcomes, max: timesSent(operation, 'register_account') }
}

type AccountKind = Extract<Kind, 'account' | 'business' | 'consent'>

/** Accounts by kind. */
export const accountOperations: Record<
  AccountKind,
  (clients: Clients, operation: Operation) => Promise<void>
> = { account: openAccount, business: openBusiness, consent: askConsent }
