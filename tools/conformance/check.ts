// The type of a check of the contract, and its assertions.
import { randomUUID } from 'node:crypto'
import type { ApiResponse, Json } from '../../clients/cli/api/api-call.ts'
import type { Client } from '../../clients/cli/api/client.ts'
import type { Receiver, ReceiverKind } from '../../clients/cli/api/receiver.ts'
import type { ProjectName, Target } from '../../clients/cli/api/target.ts'
import {
  absent,
  anObject,
  aText,
  aUuid,
  differences,
  exactly,
  holding,
  isoTime,
  type Shape,
} from './shape.ts'

/** What a deployment must have for a check to be run on it. */
export type Need = 'api key' | 'sandbox' | 'simulator' | 'loopback'

/** What a check works with. */
export type CheckContext = {
  target: Target
  /** The client that most checks are. */
  shop: Client
  as(project: ProjectName): Client
  receiver(kind?: ReceiverKind): Receiver
  /** Made by the first check that asks, for all of the run. */
  once<T>(name: string, make: () => Promise<T>): Promise<T>
}

/** One check: a rule of the contract and what shows that it is kept. */
export type Check = {
  /** Group and name, as `--only` takes them. */
  name: string
  /** The rule, in words. */
  rule: string
  needs: readonly Need[]
  run(context: CheckContext): Promise<void>
}

/** Thrown when a rule is not kept. */
export class Unmet extends Error {}

/** Makes the checks of one group. */
export function groupOf(group: string, ...needs: Need[]) {
  return (
    name: string,
    rule: string,
    run: (context: CheckContext) => Promise<void>,
    ...more: Need[]
  ): Check => ({ name: `${group}/${name}`, rule, needs: [...needs, ...more], run })
}

/** Fails unless it is true. */
export function demand(holds: boolean, words: string): void {
  if (!holds) throw new Unmet(words)
}

/** Fails unless the value has the shape. */
export function demandShape(value: unknown, shape: Shape, what = ''): void {
  const found = differences(value, shape)
  demand(found.length === 0, [what, found.join('; ')].filter((text) => text !== '').join(': '))
}

/** Fails unless the answer has this status, in HTTP and in its envelope, and this body. */
export function demandAnswer(answer: ApiResponse, status: number, shape: Shape = {}): void {
  const { errorCode = '', message = '' } = answer.body
  demand(
    answer.status === status,
    `answered ${answer.status} ${String(errorCode)} (${String(message)}), not ${status}`,
  )
  demandShape(answer.body, {
    status: status < 400 ? 'success' : 'error',
    code: status,
  })
  demandShape(answer.body, shape)
}

/** The same where the body has nothing beside `status`, `code`, `message` and these fields. */
export function demandExactly(
  answer: ApiResponse,
  status: number,
  { message = aText, ...more }: Json,
): void {
  const bare = { status: status < 400 ? 'success' : 'error', code: status, message }
  demandAnswer(answer, status, exactly({ ...bare, ...more }))
}

/** What a refusal says. `names` is part of its message. */
export type Refusal = { status: number; errorCode: string; names?: string; missing?: string[] }

export const missingField = (names: string): Refusal => ({
  status: 400,
  errorCode: 'MISSING_PARAMETER',
  names,
})

export const invalidField = (names: string): Refusal => ({
  status: 400,
  errorCode: 'INVALID_PARAMETER',
  names,
})

/** The error envelope of the routes of payments, accounts and institutions. */
export function demandRefused(answer: ApiResponse, refusal: Refusal, more: Json = {}): void {
  const { status, errorCode, names = '', missing } = refusal
  demandAnswer(answer, status, {
    message: names === '' ? aText : holding(names),
    request_id: aUuid,
    timestamp: isoTime,
    observed_client_ip: { request_ip: aText, socket_remote_address: aText },
    errorCode,
    missing: missing ?? absent,
    doc_url: holding(`/docs/errors#${errorCode}`),
    ...more,
  })
  demandShape(answer.headers['pw-request-id'], answer.body['request_id'], 'header PW-request-id')
}

/** An error of /quote: three fields, and `missing` where a GET lacks parameters. */
export function demandPlainlyRefused(
  answer: ApiResponse,
  status: number,
  names: string,
  more: Json = {},
): void {
  demandExactly(answer, status, { message: holding(names), ...more })
}

/** An error of a bill payment's route: no request id and no address in it. `field` stands where one is wrong. */
export function demandBillRefused(
  answer: ApiResponse,
  status: number,
  errorCode: string,
  more: Json = {},
): void {
  const field = answer.body['field'] === undefined ? absent : aText
  const help = { field, doc_url: holding(`/docs/errors#${errorCode}`) }
  demandExactly(answer, status, { errorCode, timestamp: isoTime, ...help, ...more })
}

/** The envelope of a success of the routes of payments, accounts and institutions. */
export const fullEnvelope = {
  message: aText,
  request_id: aUuid,
  timestamp: isoTime,
  observed_client_ip: anObject,
} as const

export const newRequestId = (): string => randomUUID()
