// One row per route, and the one place that runs the steps of the edge in their order; it must not know any single route.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors.ts'
import { type CallContext, runWithContext } from '#runtime/rpc/context.ts'
import { childTraceparent } from '#runtime/trace.ts'
import type { OpenedProject } from './auth.ts'
import { type Answer, type EnvelopeName, refusal, successBody } from './envelope.ts'
import { type EdgeHeaders, type HeaderNeeds, headerCheck } from './headers.ts'
import type { JsonBody } from './json-body.ts'
import { isForm, readForm } from './multipart.ts'
import type { EdgeServices, EdgeSettings } from './options.ts'
import type { ContractVersion, QueryCheck } from './query.ts'
import { type RateLimit, rateLimit } from './rate-limit.ts'
import type { Check } from './validate.ts'

/** What the client sent, with every value known to be well formed. */
export type Input<Q, B> = {
  query: Q
  body: B
  originCountry: string
  settings: EdgeSettings
}

/** Who is allowed to ask, and with what. */
export type Call = {
  services: EdgeServices
  settings: EdgeSettings
  projectId: string
  /** The envelope's `request_id`: what the client sent, or one of ours. */
  requestId: string
  /** Empty on routes without an api_key. */
  merchantId: string
  idempotencyKey: string
}

type Credential<Q, B> =
  /** The merchant's key out of the query or body. */
  | { kind: 'api_key'; of: (input: Input<Q, B>) => string }
  /** A session token, plain or sealed. */
  | { kind: 'session' }
  | { kind: 'none' }

/** A route as its file writes it: `Q` and `B` are its query and body, `T` what its operation takes. */
export type RouteSpec<Q, B, T> = HeaderNeeds & {
  method: 'GET' | 'POST'
  path: string
  version: ContractVersion
  envelope: EnvelopeName
  /** Shows `observed_client_ip` only with `diagnostics=true`, and never in production. */
  clientIpOnRequest?: boolean
  needsAccountAccess?: boolean
  query: QueryCheck<Q>
  body?: Check<B>
  /** The text fields of a multipart body, where the route takes one. */
  form?: Check<B>
  /** Refuses what the schema cannot tell, and makes what the operation takes. */
  read: (input: Input<Q, B>) => T
  /** Name of the institution that a grant is needed for. */
  institution?: (input: Input<Q, B>) => string
  credential: Credential<Q, B>
  operate: (asked: T, call: Call) => Promise<Answer>
}

/** A route with its types closed over. */
export type RouteRow = RouteSpec<unknown, unknown, unknown>

/** Makes a row of a spec; its types have met in the spec already. */
export function route<Q, B, T>(spec: RouteSpec<Q, B, T>): RouteRow {
  return spec as unknown as RouteRow
}

/** The operation of routes whose service is not there yet. */
export function notBuilt(): Promise<Answer> {
  return Promise.reject(refusal('SERVICE_UNAVAILABLE'))
}

/** Answers the requests of one route. */
export type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** Makes the handlers of all rows; the steps are those of "Order of checks" in the documentation. */
export function routeRunner(
  settings: EdgeSettings,
  services: EdgeServices,
): (row: RouteRow) => RouteHandler {
  const checkHeaders = headerCheck(settings.requestDateToleranceS)
  const limit = rateLimit(settings.rateLimitRps, settings.gatewayReplicas)
  const openProject = projectOpener(services, limit)

  async function run(row: RouteRow, request: FastifyRequest): Promise<Answer> {
    const { edge, headers } = request
    // 1 and 2, the route and a body of JSON, are behind us; a body of nothing is not.
    if (row.body !== undefined && edge.body === undefined && !isForm(request)) {
      throw new Failure('INVALID_JSON', 'The body must be a JSON object.')
    }
    // 3
    const checked = checkHeaders(headers, row)
    // 4, 5, 6
    const project = await openProject(checked, request)
    // 7
    if (row.needsAccountAccess === true && !project.accountAccess) {
      throw refusal('PW_ACCOUNT_ACCESS_REQUIRED')
    }
    const form = row.form !== undefined && isForm(request) ? await readForm(request) : undefined
    // 8
    const query = row.query(request.query as Record<string, unknown>)
    // 9
    const body = checkBody(row, form, edge.body)
    const { originCountry } = checked
    const input: Input<unknown, unknown> = { query, body, originCountry, settings }
    const asked = row.read(input)
    // 10
    if (row.institution !== undefined) {
      const endpoint = `${row.method} ${row.path}`
      await services.access.checkGrant(project.projectId, row.institution(input), endpoint)
    }
    // 11
    const merchantId = await proveCredential(row, input, project, services)
    // 12
    const { projectId } = project
    const { idempotencyKey } = checked
    const { requestId } = edge
    return row.operate(asked, {
      services,
      settings,
      projectId,
      requestId,
      merchantId,
      idempotencyKey,
    })
  }

  return (row) => async (request, reply) => {
    const { edge } = request
    const answer = await runWithContext(callContext(request), () => run(row, request))
    const { requestId } = edge
    const clientIp = showsClientIp(row, request, settings) ? edge.clientIp : undefined
    const facts = { form: row.envelope, method: row.method, requestId, clientIp }
    return reply.code(answer.code).send(successBody(facts, answer))
  }
}

/** What the RPCs made for a request carry. They have time limits of their own, and go on when the client leaves. */
export function callContext({ edge, headers }: FastifyRequest): CallContext {
  const { traceparent } = headers
  return {
    requestId: edge.requestId,
    traceparent: childTraceparent(typeof traceparent === 'string' ? traceparent : undefined),
  }
}

/** Steps 4 to 6: key, addresses, rate. */
function projectOpener({ access }: EdgeServices, limit: RateLimit) {
  return async (headers: EdgeHeaders, { edge }: FastifyRequest): Promise<OpenedProject> => {
    const project = await access.openProject(headers.subscriptionKey)
    edge.projectId = project.projectId
    const { allowsAddress } = project
    if (allowsAddress !== undefined) {
      const isAllowed = allowsAddress(headers.claimedIp) && allowsAddress(edge.clientIp.request_ip)
      if (!isAllowed) throw refusal('PW_IP_NOT_ALLOWED')
    }
    limit(project.keyId)
    return project
  }
}

function checkBody(
  row: RouteRow,
  form: Record<string, string> | undefined,
  json: JsonBody | undefined,
): unknown {
  if (form !== undefined) return row.form?.(form, false)
  if (row.body === undefined || json === undefined) return undefined
  return row.body(json.fields, json.isPlain)
}

async function proveCredential(
  row: RouteRow,
  input: Input<unknown, unknown>,
  { projectId }: OpenedProject,
  { access }: EdgeServices,
): Promise<string> {
  const { credential } = row
  if (credential.kind === 'api_key') return access.findMerchant(projectId, credential.of(input))
  // Session tokens are checked by a service that is not there yet.
  if (credential.kind === 'session') throw refusal('SERVICE_UNAVAILABLE')
  return ''
}

/** Whether answers to this request show where it came from. */
export function showsClientIp(
  row: RouteRow | undefined,
  request: Pick<FastifyRequest, 'query'>,
  settings: EdgeSettings,
): boolean {
  if (row?.clientIpOnRequest !== true) return true
  const { diagnostics } = request.query as Record<string, unknown>
  return diagnostics === 'true' && settings.environment !== 'production'
}
