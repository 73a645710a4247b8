// One row per route, the state of a request, and the one place that runs the steps of the edge in their order.

import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { isUuid, randomId } from '#core/identity/id.ts'
import type { ContractVersion } from '#core/text/contract-version.ts'
import { type CallContext, runWithContext } from '#platform/rpc/context.ts'
import { childTraceparent, type Span } from '#platform/telemetry/spans.ts'
import type { OpenedProject } from '../access/auth.ts'
import {
  type LookupKind,
  lookupLimit,
  type RateLimit,
  type RateLimitHeaders,
  rateLimit,
} from '../access/rate-limit.ts'
import type { EdgeServices, EdgeSettings, RouteTimeouts } from '../options.ts'
import type { ArtefactUpload } from '../routes/account/artefact-upload.ts'
import { type FormNames, isForm, readForm } from './body/multipart.ts'
import { type EnvelopeName, refusal, type SuccessResponse, successBody } from './envelope.ts'
import {
  type ClientIpReader,
  type EdgeHeaders,
  type HeaderNeeds,
  headerCheck,
  type ObservedClientIp,
} from './headers.ts'
import { requestTimeoutMs } from './server.ts'
import type { Check, QueryCheck } from './validate.ts'
import { noticeHeaders } from './version-notice.ts'

/** A body that could be read. */
export type JsonBody = {
  fields: Record<string, unknown>
  /** The body certainly has no forbidden character and no infinite number, so checks need not search its values for them. */
  isPlain: boolean
  /** Bytes that it came in. */
  bytes: number
}

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
export function edgeHeaders({ warning, rateLimit }: EdgeRequest): Record<string, string> {
  return {
    ...(warning !== undefined && { 'pw-warning': warning }),
    ...(rateLimit !== undefined && {
      'ratelimit-policy': rateLimit.policy,
      ratelimit: rateLimit.state,
    }),
  }
}

/** What the client sent, with every value known to be well formed. */
export type Input<Q, B> = {
  query: Q
  body: B
  originCountry: string
  settings: EdgeSettings
}

/** An authenticated call, and the services and settings to answer it. */
export type Call = {
  services: EdgeServices
  settings: EdgeSettings
  projectId: string
  /** The envelope's `request_id`: what the client sent, or one of ours. */
  requestId: string
  /** Empty on routes without an api_key. */
  merchantId: string
  idempotencyKey: string
  /** Counts a look-up of this project against the limit of its value, which is normalized. */
  countLookup: (kind: LookupKind, value: string) => void
  /** The artefacts of a form; absent when the body was JSON. */
  upload: ArtefactUpload | undefined
}

type Credential<Q, B> =
  /** The merchant's key out of the query or body. */
  | { kind: 'api_key'; of: (input: Input<Q, B>) => string }
  /** A session token, plain or sealed. The service that the operation calls first verifies it. */
  | { kind: 'session' }
  | { kind: 'none' }

/** What a route takes as a form: its text fields are its body. */
type FormSpec<B> = FormNames & {
  check: Check<B>
  /** Opens the upload that files are streamed to while they arrive. */
  open: (services: EdgeServices, caller: { projectId: string; requestId: string }) => ArtefactUpload
}

type FilledForm = { fields: Record<string, string>; upload: ArtefactUpload }

/** A route as its file defines it: `Q` and `B` are the types of its query and body, `T` what its operation takes. */
export type RouteSpec<Q, B, T> = HeaderNeeds & {
  method: 'GET' | 'POST'
  path: string
  version: ContractVersion
  envelope: EnvelopeName
  /** Shows `observed_client_ip` only with `diagnostics=true`, and never in production. */
  clientIpOnRequest?: boolean
  needsAccountAccess?: boolean
  /** The operation waits for a biller, so the request has the deadline of a bill payment. */
  waitsForBiller?: true
  query: QueryCheck<Q>
  body?: Check<B>
  /** A multipart body, where the route takes one. */
  form?: FormSpec<B>
  /** Validates what the schema cannot, and returns the input of the operation. */
  read: (input: Input<Q, B>) => T
  /** Name of the institution that a grant is needed for. */
  institution?: (input: Input<Q, B>) => string
  credential: Credential<Q, B>
  operate: (request: T, call: Call) => Promise<SuccessResponse>
}

/** A route of any types, so that routes can stand in one list. */
export type RouteRow = RouteSpec<unknown, unknown, unknown>

/** Makes a row of a spec. The cast is safe: the compiler has checked `Q`, `B` and `T` against each other in the spec. */
export function route<Q, B, T>(spec: RouteSpec<Q, B, T>): RouteRow {
  return spec as unknown as RouteRow
}

/** Answers the requests of one route. */
export type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function limitsOf(settings: EdgeSettings, nowMs?: () => number) {
  const { rateLimitRps, sessionLookupsPerMin, gatewayReplicas: replicas } = settings
  return {
    countCall: rateLimit(rateLimitRps, replicas, nowMs),
    countLookup: lookupLimit(sessionLookupsPerMin, replicas, nowMs),
  }
}

/** Makes the handlers of all rows; the steps are those of "Order of checks" in the documentation. */
export function routeRunner(
  settings: EdgeSettings,
  services: EdgeServices,
  nowMs?: () => number,
): (row: RouteRow) => RouteHandler {
  const checkHeaders = headerCheck(settings.requestDateToleranceS)
  const { countCall, countLookup } = limitsOf(settings, nowMs)
  const openProject = projectOpener(services, countCall)

  async function run(row: RouteRow, request: FastifyRequest): Promise<SuccessResponse> {
    const { edge, headers } = request
    // Step 1 (route) and step 2 (JSON body) have run. The parsers do not run for a request without a body, so it is refused here.
    if (row.body !== undefined && edge.body === undefined && !isForm(request)) {
      throw new Failure('INVALID_JSON', 'The body must be a JSON object.')
    }
    // 3
    const checked = checkHeaders(headers, row)
    // 4, 5, 6
    const opened = openProject(checked, request)
    const { projectId, accountAccess } = opened instanceof Promise ? await opened : opened
    // 7
    if (row.needsAccountAccess === true && !accountAccess) {
      throw refusal('PW_ACCOUNT_ACCESS_REQUIRED')
    }
    const caller = { ...checked, projectId }
    const form = row.form !== undefined && isForm(request) ? row.form : undefined
    if (form === undefined) return await answer(row, request, caller, undefined)
    const upload = form.open(services, { projectId, requestId: edge.requestId })
    try {
      const fields = await readForm(request, form, upload)
      return await answer(row, request, caller, { fields, upload })
    } finally {
      upload.close()
    }
  }

  async function answer(
    row: RouteRow,
    { edge, query: given }: FastifyRequest,
    { projectId, originCountry, idempotencyKey }: EdgeHeaders & { projectId: string },
    form: FilledForm | undefined,
  ): Promise<SuccessResponse> {
    // 8
    const query = row.query(given as Record<string, unknown>)
    // 9
    const input = { query, body: checkBody(row, form?.fields, edge), originCountry, settings }
    const rpcRequest = row.read(input)
    // 10
    if (row.institution !== undefined) {
      const endpoint = `${row.method} ${row.path}`
      await services.access.checkGrant(projectId, row.institution(input), endpoint)
    }
    // 11
    const proved = proveApiKey(row, input, projectId, services)
    edge.merchantId = proved instanceof Promise ? await proved : proved
    // 12
    return await row.operate(rpcRequest, {
      services,
      settings,
      projectId,
      requestId: edge.requestId,
      merchantId: edge.merchantId,
      idempotencyKey,
      countLookup: (kind, value) => countLookup(kind, projectId, value, edge),
      upload: form?.upload,
    })
  }

  return (row) => {
    const notice = noticeHeaders(settings.versionNotices[row.version])
    return async (request, reply) => {
      const { edge } = request
      if (notice !== undefined) reply.headers(notice)
      const answer = await runWithContext(scopeOf(row, request, settings), () => run(row, request))
      const clientIp = showsClientIp(row, request, settings) ? edge.clientIp : undefined
      const facts = { form: row.envelope, method: row.method, requestId: edge.requestId, clientIp }
      if (answer.headers !== undefined) reply.headers(answer.headers)
      reply.headers(edgeHeaders(edge))
      return reply.code(answer.code).send(successBody(facts, answer))
    }
  }
}

function scopeOf(row: RouteRow, request: FastifyRequest, settings: EdgeSettings): CallContext {
  const isArriving = row.form !== undefined && isForm(request)
  return callContext(request, deadlineOf(row, settings, isArriving))
}

/**
 * The context of the RPCs made for a request; `deadline` in milliseconds since the epoch. The RPCs continue when the client
 * disconnects: they may already have moved money.
 */
export function callContext({ edge, headers }: FastifyRequest, deadline: number): CallContext {
  return {
    deadline,
    requestId: edge.requestId,
    traceparent: edge.span?.traceparent ?? childTraceparent(traceparentOf(headers)),
  }
}

/** The W3C `traceparent` that the client sent. */
export function traceparentOf({ traceparent }: FastifyRequest['headers']): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined
}

/** Steps 4 to 6: subscription key, allowed addresses, rate limit. A cached result is returned synchronously: most requests have one. */
function projectOpener({ access }: EdgeServices, limit: RateLimit) {
  function admit(
    project: OpenedProject,
    { claimedIp }: EdgeHeaders,
    { edge }: FastifyRequest,
  ): OpenedProject {
    edge.projectId = project.projectId
    const { allowsAddress } = project
    if (allowsAddress !== undefined) {
      const isAllowed = allowsAddress(claimedIp) && allowsAddress(edge.clientIp.request_ip)
      if (!isAllowed) throw refusal('PW_IP_NOT_ALLOWED')
    }
    limit(project.keyId, edge)
    return project
  }
  return (headers: EdgeHeaders, request: FastifyRequest) => {
    const found = access.openProject(headers.subscriptionKey)
    return found instanceof Promise
      ? found.then((project) => admit(project, headers, request))
      : admit(found, headers, request)
  }
}

function checkBody(
  row: RouteRow,
  form: Record<string, string> | undefined,
  edge: EdgeRequest,
): unknown {
  const check = form === undefined ? row.body : row.form?.check
  const given = form ?? edge.body?.fields
  if (check === undefined || given === undefined) return undefined
  edge.warning = check.unknownFields(given)
  return check(given, form === undefined && edge.body?.isPlain === true)
}

function proveApiKey(
  row: RouteRow,
  input: Input<unknown, unknown>,
  projectId: string,
  { access }: EdgeServices,
): string | Promise<string> {
  const { credential } = row
  return credential.kind === 'api_key' ? access.findMerchant(projectId, credential.of(input)) : ''
}

/** Whether the response has `observed_client_ip`. */
export function showsClientIp(
  row: RouteRow | undefined,
  request: Pick<FastifyRequest, 'query'>,
  settings: EdgeSettings,
): boolean {
  if (row?.clientIpOnRequest !== true) return true
  const { diagnostics } = request.query as Record<string, unknown>
  return diagnostics === 'true' && settings.environment !== 'production'
}

export const routeTimeouts: RouteTimeouts = {
  defaultMs: 15_000,
  besideBillerMs: 5_000,
  answerMs: 500,
}

type Settings = Pick<EdgeSettings, 'billerTimeoutMs' | 'requestTimeoutMs' | 'routeTimeouts'>

/**
 * The deadline of the RPCs for a request that arrives now, in milliseconds since the epoch. The files of a form are streamed to
 * the service while the client sends them, so a form also gets the time for sending (`isArriving`).
 */
export function deadlineOf(
  row: { waitsForBiller?: true },
  settings: Settings,
  isArriving = false,
): number {
  const { defaultMs, besideBillerMs, answerMs } = settings.routeTimeouts ?? routeTimeouts
  const isBill = row.waitsForBiller === true
  const routeMs = isBill ? settings.billerTimeoutMs + besideBillerMs : defaultMs
  const arrivalMs = isArriving ? (settings.requestTimeoutMs ?? requestTimeoutMs) : 0
  return Date.now() + arrivalMs + routeMs - answerMs
}
