// Reads back by the API everything that was answered: a repeat has the same answer, and each state is the promised one.
import { isDeepStrictEqual } from 'node:util'
import {
  type Api,
  type ApiResponse,
  type Call,
  GaveUp,
  institutionName,
  type Json,
} from '../load/api.ts'
import { billCall, transferCall } from '../load/money.ts'
import type { Operation, Records } from '../load/records.ts'
import { type Finding, findingOf } from './finding.ts'

const atOnce = 12
/** For one answer, or all of one operation, on a system that works. */
const answerWithinMs = 120_000

/** The balances in minor units of the people whom transactions of the load change. Rejects when they are not answered. */
export async function readBalances(api: Api): Promise<Record<string, number>> {
  api.giveUpAt(Date.now() + answerWithinMs)
  const noted: Operation = { kind: 'transfer', id: 'balances', begunMs: Date.now(), tries: [] }
  const people = ['+12025550100', '+12025550101', '+12025550105', '+12025550111']
  const entries = await Promise.all(
    people.map(async (mobile_number) => {
      const query = { mobile_number }
      const answer = await api.accepted(noted, { method: 'GET', path: '/account/balance', query })
      return [mobile_number, Math.round(Number(answer['balance']) * 100)] as const
    }),
  )
  return Object.fromEntries(entries)
}

/** Compares the balances with the opening balances and all that was promised since. */
export async function checkPromisedBalances(
  api: Api,
  { operations }: Records,
  before: Record<string, number>,
): Promise<Finding[]> {
  const wanted = { ...before }
  for (const { transfers = [] } of operations)
    for (const { changes } of transfers)
      for (const [who, minor] of Object.entries(changes)) wanted[who] = (wanted[who] ?? 0) + minor
  const after = await readBalances(api)
  const wrong = Object.keys(wanted).filter((who) => wanted[who] !== after[who])
  return findingOf(
    'balances that are not the sum of what was answered',
    wrong.map((who) => `${who}: ${after[who]}, promised ${wanted[who]}`),
  )
}

/**
 * `stranger`: a client of another project, if there is one. `neighbour`: API key of another merchant of the same project, once
 * there is one.
 */
type Clients = { api: Api; stranger?: Api | undefined; neighbour?: string | undefined }

/** Reads every operation of the load back, and tries what must be refused. */
export async function readBack(
  { api, stranger }: Clients,
  { operations }: Records,
): Promise<Finding[]> {
  const wrong: string[] = []
  const neighbour = operations.find(({ merchantKey }) => merchantKey !== undefined)?.merchantKey
  const clients = { api, stranger, neighbour }
  const waiting = operations.filter(({ broken }) => broken === undefined)
  const work = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      for (const client of [api, stranger]) client?.giveUpAt(Date.now() + answerWithinMs)
      // Apart from the operation's own requests, whose failures are judged by the faults beside them.
      const noted: Operation = { ...one, tries: [] }
      const problem = await problemsOf(clients, noted).catch((error: unknown) => {
        // A system that does not answer is found by the first operations; all of them would take hours.
        if (error instanceof GaveUp) waiting.splice(0)
        return String(error)
      })
      if (problem !== undefined) wrong.push(`${one.kind} ${one.id}: ${problem}`)
      const bad = noted.tries.find(isBad)
      if (bad) wrong.push(`${one.kind} ${one.id}: ${JSON.stringify(bad)}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return findingOf('operations that are read back otherwise', wrong)
}

/** A read may meet a pause of the machine: it is repeated after 503 and 504, and has to succeed in the end. */
function isBad({ status, undocumented }: Operation['tries'][number]): boolean {
  return (
    (status !== 503 && status !== 504 && (status === 0 || status >= 500)) ||
    undocumented !== undefined
  )
}

/** What is wrong with one; undefined when nothing is. */
async function problemsOf(
  { api, stranger, neighbour }: Clients,
  operation: Operation,
): Promise<string | undefined> {
  return (
    (await paymentProblem(api, operation)) ??
    (await strangerProblem(api, neighbour, operation)) ??
    (stranger && (await strangerProblem(stranger, stranger.apiKey, operation))) ??
    (stranger && (await foreignProblem(stranger, operation))) ??
    (await billProblem(api, operation)) ??
    (await transferProblem(api, operation)) ??
    (await quoteProblem(api, operation))
  )
}

async function paymentProblem(api: Api, operation: Operation): Promise<string | undefined> {
  const { payment, resultId = '' } = operation
  if (payment === undefined) return undefined
  const query = { api_key: api.apiKey, payment_details_id: resultId }
  const now = await api.accepted(operation, { method: 'GET', path: '/payments/status', query })
  const state = String((now['payment_details'] as Json)['status'])
  const payers = (now['payers'] as Json[]).map(({ status }) => String(status))
  const isPromised = payment.outcomes.some(
    (outcome) => outcome.state === state && outcome.payers.join() === payers.join(),
  )
  if (!isPromised) return `${state} with payers ${payers.join()}`
  const again = await api.accepted(operation, {
    method: 'POST',
    path: '/payments/request',
    body: payment.body,
  })
  if (!isDeepStrictEqual(again['payment_details'], payment.answer))
    return `a repeat is answered ${JSON.stringify(again)}`
  const transaction = { ...(payment.body['transaction_request'] as Json), description: 'other' }
  const other = await api.clear(operation, {
    method: 'POST',
    path: '/payments/request',
    body: { ...payment.body, transaction_request: transaction },
  })
  return refusalProblem(other, 'DUPLICATE_TRANSACTION_ID')
}

function refusalProblem({ body, text }: ApiResponse, code: string): string | undefined {
  return body['errorCode'] === code ? undefined : `no ${code}, but ${text.slice(0, 300)}`
}

/** Another project does not know it, nor another merchant. */
async function strangerProblem(
  stranger: Api,
  key: string | undefined,
  operation: Operation,
): Promise<string | undefined> {
  const { payment, resultId = '' } = operation
  if (payment === undefined || key === undefined) return undefined
  const query = { api_key: key, payment_details_id: resultId }
  const read = { method: 'GET', path: '/payments/status', query } as const
  return refusalProblem(await stranger.clear(operation, read), 'PAYMENT_NOT_FOUND')
}

/** Another project does not know its bill, its quote and its transactions. */
async function foreignProblem(
  stranger: Api,
  { bill, quote, transfers = [], ...operation }: Operation,
): Promise<string | undefined> {
  const reads: { call: Call; code: string }[] = []
  if (bill !== undefined) {
    const query = { transaction_id: operation.resultId ?? '' }
    const read = { method: 'GET', version: '2026-07-01', query } as const
    for (const name of ['status', 'receipt'])
      reads.push({
        call: { ...read, path: `/bill_payments/${name}` },
        code: 'BILL_PAYMENT_NOT_FOUND',
      })
  }
  for (const { id } of transfers) {
    const query = { transaction_id: id, institution_name: institutionName }
    const call = { method: 'GET', path: '/institution/transaction', query } as const
    reads.push({ call, code: 'TRANSACTION_NOT_FOUND' })
  }
  for (const { call, code } of reads) {
    const problem = refusalProblem(await stranger.clear(operation, call), code)
    if (problem !== undefined) return problem
  }
  if (quote === undefined) return undefined
  const query = { quote_id: quote.id, institution_name: institutionName }
  const answer = await stranger.clear(operation, { method: 'GET', path: '/quote', query })
  // Errors of quotes have no error code.
  return answer.status === 404 ? undefined : `another project reads its quote: ${answer.text}`
}

async function billProblem(api: Api, operation: Operation): Promise<string | undefined> {
  const { bill, id, resultId = '' } = operation
  if (bill === undefined) return undefined
  const again = await api.accepted(operation, billCall(id, bill.body))
  if (!isDeepStrictEqual(again, bill.answer)) return `a repeat is answered ${JSON.stringify(again)}`
  const other = await api.clear(operation, billCall(id, { ...bill.body, description: 'other' }))
  const conflict = refusalProblem(other, 'IDEMPOTENCY_KEY_CONFLICT')
  if (conflict !== undefined) return conflict
  const query = { transaction_id: resultId }
  const version = '2026-07-01'
  const read = { method: 'GET', version, query } as const
  const status = await api.accepted(operation, { ...read, path: '/bill_payments/status' })
  if (status['normalized_status'] !== bill.answer['normalized_status'])
    return `its status is ${String(status['normalized_status'])}`
  const receipt = await api.clear(operation, { ...read, path: '/bill_payments/receipt' })
  const wanted = bill.answer['normalized_status'] === 'SUCCESS' ? 200 : 409
  return receipt.status === wanted ? undefined : `its receipt is ${receipt.text.slice(0, 200)}`
}

async function transferProblem(api: Api, operation: Operation): Promise<string | undefined> {
  for (const { id, body, receiptId, state } of operation.transfers ?? []) {
    const again = await api.accepted(operation, transferCall(body))
    if (again['institution_receipt_id'] !== receiptId)
      return `a repeat is answered ${JSON.stringify(again)}`
    const query = { transaction_id: id, institution_name: institutionName }
    const read = { method: 'GET', path: '/institution/transaction', query } as const
    const { transaction_status } = await api.accepted(operation, read)
    if (transaction_status !== state) return `${id} is ${String(transaction_status)}`
    const other = await api.clear(operation, transferCall({ ...body, description: 'other' }))
    const conflict = refusalProblem(other, 'DUPLICATE_TRANSACTION_ID')
    if (conflict !== undefined) return conflict
  }
  return undefined
}

async function quoteProblem(api: Api, operation: Operation): Promise<string | undefined> {
  const { quote } = operation
  if (quote === undefined) return undefined
  const query = { quote_id: quote.id, institution_name: institutionName }
  const now = await api.accepted(operation, { method: 'GET', path: '/quote', query })
  const names = ['rate', 'amount_quoted', 'quote_date', 'expire_date']
  const differs = names.filter((name) => now[name] !== quote.answer[name])
  return differs.length === 0 ? undefined : `${differs.join()} differ: ${JSON.stringify(now)}`
}
