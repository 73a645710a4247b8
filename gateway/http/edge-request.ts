// The state that the gateway keeps of one request while it answers it.
import type { IncomingMessage } from 'node:http'
import type { Reason } from '#core/errors/errors.ts'
import { isUuid, randomId } from '#core/identity/id.ts'
import type { Span } from '#platform/telemetry/spans.ts'
import type { RateLimitHeaders } from '../access/rate-limit.ts'
import type { JsonBody } from './body/json-body.ts'
import type { ClientIpReader, ObservedClientIp } from './client-ip.ts'

/** The state of one request. The steps that handle it fill it in. */
export type EdgeRequest = {
  /** The client's `PW-request-id` when that is a UUID, else one of ours. */
  requestId: string
  clientIp: ObservedClientIp
  /** Set by the parser of the body. */
  body: JsonBody | undefined
  /** Set once the subscription key was accepted. */
  projectId: string | undefined
  /** Set once the API key was accepted. */
  merchantId?: string
  /** The text fields of a form. */
  form?: Record<string, string>
  /** Why it was refused. */
  reason: Reason | undefined
  /** The field that the refusal names, if it names one. */
  field?: string | undefined
  /** The body of the response, if it is text. */
  answer?: string
  /** Value of `PW-Warning`: the fields of the body that the route does not know. */
  warning: string | undefined
  /** Set once a limit counted the request. */
  rateLimit: RateLimitHeaders | undefined
  /**
   * When the response began, by the clock of `performance`, if it is an event stream. The measured duration ends here: how long
   * the client stays connected is not latency.
   */
  streamedMs?: number
  /** Absent while traces are off. */
  span?: Span | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    edge: EdgeRequest
  }
}

/** Makes the state of a request that has just arrived. */
export function startEdgeRequest(
  raw: Pick<IncomingMessage, 'headers' | 'socket'>,
  readClientIp: ClientIpReader,
  span?: Span,
): EdgeRequest {
  const given = raw.headers['pw-request-id']
  return {
    requestId: typeof given === 'string' && isUuid(given) ? given : randomId(),
    clientIp: readClientIp(raw),
    body: undefined,
    projectId: undefined,
    reason: undefined,
    warning: undefined,
    rateLimit: undefined,
    span,
  }
}

/** The warning and rate-limit headers of a response, whether it is a success or a refusal. */
export function notedHeaders({ warning, rateLimit }: EdgeRequest): Record<string, string> {
  return {
    ...(warning !== undefined && { 'pw-warning': warning }),
    ...(rateLimit !== undefined && {
      'ratelimit-policy': rateLimit.policy,
      ratelimit: rateLimit.state,
    }),
  }
}
