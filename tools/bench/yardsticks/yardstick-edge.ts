// The edge of the yardsticks: all of the gateway's own checks over the tables of accounts, in one program.
import { hash } from 'node:crypto'
import { type FastifyRequest, fastify } from 'fastify'
import { type Failure, reasons } from '#core/errors/errors.ts'
import { readSettings } from '#platform/config/config.ts'
import type { Database } from '#platform/db/db.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { type TtlCache, ttlCache } from '#platform/rpc/client/ttl-cache.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { childTraceparent } from '#platform/telemetry/spans.ts'
import { rateLimit } from '../../../gateway/access/rate-limit.ts'
import { readJson } from '../../../gateway/http/body/body-parsers.ts'
import {
  errorBody,
  publicFailure,
  refusal,
  type SuccessResponse,
  successBody,
} from '../../../gateway/http/envelope.ts'
import {
  type AddressMatch,
  clientIpReader,
  headerCheck,
  parseRanges,
} from '../../../gateway/http/headers.ts'
import { type Input, type RouteRow, startEdgeRequest } from '../../../gateway/http/route.ts'
import {
  accountKeyFiles,
  accountSecrets,
} from '../../../services/accounts/access/domain/credentials.ts'
import {
  authenticateApiKey,
  authenticateSubscriptionKey,
} from '../../../services/accounts/access/operations/authenticate.ts'

/** The caller; the merchant is empty on routes without an api_key, the idempotency key on those without one. */
export type Asker = { projectId: string; merchantId: string; idempotencyKey: string }
/** Does what a route does with what was asked. */
export type Operation = (asked: unknown, asker: Asker) => Promise<SuccessResponse>
type Project = { projectId: string; keyId: string; allowsAddress: AddressMatch | undefined }

/** Settings of the gateway, with which the yardsticks answer. */
export const edge = { ...readSettings('gateway'), allowLoopback: true }

/** A memory for answers, as the gateway has it. */
export function remembering<T>(ttlMs: number): TtlCache<T> {
  return ttlCache({ maxEntries: 10_000, ttlMs: () => ttlMs, refusedTtlMs: () => 1_000 })
}

/** Answers routes by their rows and operations, and sends the parent process a message once it does. */
export async function serveEdge(
  accounts: Database,
  routes: readonly { row: RouteRow; operate: Operation }[],
): Promise<void> {
  const app = fastify({ bodyLimit: 64 * 1024 })
  const readClientIp = clientIpReader(edge.trustedProxies)
  const authenticate = authenticator(accounts)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request, raw: Buffer, done) => {
      try {
        const { 'content-type': type, 'content-encoding': encoding } = request.headers
        done(null, readJson(raw, type, encoding))
      } catch (error) {
        done(error as Failure, undefined)
      }
    },
  )
  for (const { row, operate } of routes) {
    const { method, envelope: form, path } = row
    const answer = answering(row, operate, authenticate)
    app.route({
      method,
      url: path,
      async handler(request, reply) {
        const { requestId, clientIp } = startEdgeRequest(request.raw, readClientIp)
        void reply.headers({
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'pw-request-id': requestId,
        })
        const facts = { form, method, requestId, clientIp }
        const context = { requestId, traceparent: childTraceparent(undefined) }
        try {
          const outcome = await runWithContext(context, () => answer(request, clientIp.request_ip))
          return reply.code(outcome.code).send(successBody(facts, outcome))
        } catch (error) {
          const failure = publicFailure(error)
          const code = reasons[failure.reason].http
          return reply
            .code(code)
            .send(errorBody(facts, failure, { code, publicBaseUrl: edge.publicBaseUrl }))
        }
      },
    })
  }
  await app.listen({ host: '127.0.0.1', port: edge.port })
  process.send?.({ ready: true })
  process.once('disconnect', () => process.exit(0))
}

/** A row of some routes by its path. */
export function rowOf(rows: readonly RouteRow[], path: string): RouteRow {
  const row = rows.find((one) => one.path === path)
  if (row === undefined) throw new Error(`there is no route ${path}`)
  return row
}

const checkHeaders = headerCheck(edge.requestDateToleranceS)
const limit = rateLimit(edge.rateLimitRps, edge.gatewayReplicas)

/** Every check of a row, then its operation. */
function answering(row: RouteRow, operate: Operation, authenticate: Authenticator) {
  return async (request: FastifyRequest, requestIp: string): Promise<SuccessResponse> => {
    const { headers } = request
    const checked = checkHeaders(headers, row)
    const { subscriptionKey, claimedIp, originCountry, idempotencyKey } = checked
    const { allowsAddress, projectId, keyId } = await authenticate.project(subscriptionKey)
    if (allowsAddress !== undefined) {
      if (!allowsAddress(claimedIp) || !allowsAddress(requestIp)) throw refusal('PW_IP_NOT_ALLOWED')
    }
    limit(keyId, { rateLimit: undefined })
    const query = row.query(request.query as Record<string, unknown>)
    const json = request.body as ReturnType<typeof readJson> | undefined
    if (row.body !== undefined && json === undefined) throw refusal('INVALID_JSON')
    const body = json === undefined ? undefined : row.body?.(json.fields, json.isPlain)
    const input: Input<unknown, unknown> = {
      query,
      body,
      originCountry,
      settings: { ...edge, environment: 'local', billerTimeoutMs: edge.billerTimeoutS * 1_000 },
    }
    const asked = row.read(input)
    const { credential } = row
    const merchantId =
      credential.kind === 'api_key'
        ? await authenticate.merchant(projectId, credential.of(input))
        : ''
    return operate(asked, { projectId, merchantId, idempotencyKey })
  }
}

type Authenticator = ReturnType<typeof authenticator>

/** Credentials by the tables of accounts, remembered for as long as the gateway does. */
function authenticator(accounts: Database) {
  const dir = process.env['ACCOUNTS_SECRETS_DIR'] ?? ''
  const secrets = accountSecrets(
    openKeys({ dir, names: accountKeyFiles, log: createLogger({ part: 'bench', level: 'error' }) }),
  )
  const projects = remembering<Project>(5_000)
  const keys = remembering<string>(5_000)
  return {
    project: (subscriptionKey: string): Project | Promise<Project> =>
      projects.get(digest(subscriptionKey), async () => {
        const found = await authenticateSubscriptionKey(
          accounts,
          secrets,
          subscriptionKey,
          'sandbox',
        )
        const { projectId, allowedIps } = found.project
        const allowsAddress = allowedIps.length === 0 ? undefined : parseRanges(allowedIps)
        return { projectId, keyId: found.keyId, allowsAddress }
      }),
    merchant: (projectId: string, apiKey: string): string | Promise<string> =>
      keys.get(digest(`${projectId} ${apiKey}`), async () => {
        const { merchantId } = await authenticateApiKey(accounts, secrets, projectId, apiKey)
        return merchantId
      }),
  }
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64')
}
