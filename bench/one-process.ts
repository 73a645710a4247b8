// The yardstick: one Fastify program on the same tables that does the edge work and the same write without a mesh. It
// must not leave out a check that the gateway or payments makes, nor do more than they do.
import { hash } from 'node:crypto'
import { type FastifyRequest, fastify } from 'fastify'
import { Registry } from 'prom-client'
import { type Failure, reasons } from '#core/errors.ts'
import { renderCreated, renderStatus } from '#core/payment-snapshot.ts'
import type { PaymentView } from '#core/payment-view.ts'
import { readSettings } from '#runtime/config.ts'
import { openDatabase } from '#runtime/db.ts'
import { createLogger } from '#runtime/log.ts'
import { runWithContext } from '#runtime/rpc/context.ts'
import { readSecret } from '#runtime/secrets.ts'
import { childTraceparent } from '#runtime/trace.ts'
import { type AnswerCache, answerCache } from '../gateway/answer-cache.ts'
import { type AddressMatch, clientIpReader, parseRanges } from '../gateway/client-ip.ts'
import { startEdgeRequest } from '../gateway/edge-request.ts'
import { type Answer, errorBody, publicFailure, refusal, successBody } from '../gateway/envelope.ts'
import { headerCheck } from '../gateway/headers.ts'
import { readJson } from '../gateway/json-body.ts'
import { rateLimit } from '../gateway/rate-limit.ts'
import type { Input } from '../gateway/route.ts'
import { paymentRoutes } from '../gateway/routes/payments.ts'
import {
  authenticateApiKey,
  authenticateSubscriptionKey,
} from '../services/accounts/authenticate.ts'
import { accountSecrets } from '../services/accounts/credentials.ts'
import { findMerchant } from '../services/accounts/project-store.ts'
import { linkToken } from '../services/payments/links.ts'
import { paymentMetrics } from '../services/payments/metrics.ts'
import type { Merchant } from '../services/payments/new-payment.ts'
import type { Payment } from '../services/payments/payment.ts'
import { createPayment, getPayment, type Payments } from '../services/payments/payments.ts'
import { type AskedPayment, newPayment } from './asked-payment.ts'

type Owner = { projectId: string; merchantId: string }
type Project = { projectId: string; keyId: string; allowsAddress: AddressMatch | undefined }

const edge = { ...readSettings('gateway'), allowLoopback: true }
const settings = readSettings('payments')
const log = createLogger({ part: 'one-process', level: settings.logLevel })
const db = openDatabase({ url: settings.databaseUrl, service: 'payments', log })
const accounts = openDatabase({ url: settings.databaseUrl, service: 'accounts', log, poolSize: 2 })
const accountsDir = process.env['ACCOUNTS_SECRETS_DIR'] ?? ''
const secrets = accountSecrets(
  readSecret(accountsDir, 'pepper'),
  readSecret(accountsDir, 'seal.key'),
)
const linkKey = readSecret(settings.secretsDir, 'link.key')

// As long as the gateway and payments remember them.
const projects = remembering<Project>(5_000)
const keys = remembering<string>(5_000)
const merchants = remembering<Merchant>(60_000)

const payments: Payments = {
  db,
  log,
  linkKey,
  settings: {
    feeSchedule: settings.feeSchedule,
    fraudRules: settings.fraudRules,
    timesToPayS: {
      agent: settings.paymentTtlAgentS,
      direct_pos: settings.paymentTtlDirectPosS,
      payment_link: settings.paymentTtlPaymentLinkS,
    },
    allowLoopback: edge.allowLoopback,
    publicBaseUrl: edge.publicBaseUrl,
  },
  findMerchant: async (projectId, merchantId) =>
    merchants.get(`${projectId} ${merchantId}`, () => loadMerchant(projectId, merchantId)),
  metrics: paymentMetrics(new Registry(), () => Promise.resolve([])),
  kick: () => undefined,
}

const checkHeaders = headerCheck(edge.requestDateToleranceS)
const limit = rateLimit(edge.rateLimitRps, edge.gatewayReplicas)
const readClientIp = clientIpReader(edge.trustedProxies)
const app = fastify({ bodyLimit: 64 * 1024 })

readBodies()
serve('/payments/request', async (asked, { projectId, merchantId }) => {
  const request = newPayment(asked as AskedPayment, projectId, merchantId)
  const { payment } = await createPayment(payments, request)
  const payment_details = renderCreated(viewOf(payment), edge.publicBaseUrl)
  const message = 'Payment request created successfully.'
  return { code: 200, message, fields: { payment_details } }
})
serve('/payments/status', async (paymentId, owner) => {
  const payment = await getPayment(payments, { ...owner, paymentId: paymentId as string })
  const fields = renderStatus(viewOf(payment))
  return { code: 200, message: 'Payment status retrieved successfully.', fields }
})
await app.listen({ host: '127.0.0.1', port: edge.port })
process.send?.({ ready: true })
process.once('disconnect', () => process.exit(0))

function remembering<T>(lifeMs: number): AnswerCache<T> {
  return answerCache({ maxEntries: 10_000, lifeMs: () => lifeMs, refusedLifeMs: () => 1_000 })
}

function readBodies(): void {
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
}

/** One route with every check of its row. */
function serve(path: string, operate: (asked: unknown, owner: Owner) => Promise<Answer>): void {
  const row = paymentRoutes.find((one) => one.path === path)
  if (row === undefined) throw new Error(`there is no route ${path}`)
  const { method, envelope: form, credential } = row

  async function answer(request: FastifyRequest): Promise<Answer> {
    const { headers } = request
    const { subscriptionKey, claimedIp, originCountry } = checkHeaders(headers, row ?? {})
    const project = await openProject(subscriptionKey)
    const { allowsAddress, projectId } = project
    if (allowsAddress !== undefined) {
      const { request_ip } = readClientIp(request.raw)
      if (!allowsAddress(claimedIp) || !allowsAddress(request_ip))
        throw refusal('PW_IP_NOT_ALLOWED')
    }
    limit(project.keyId)
    const query = row?.query(request.query as Record<string, unknown>)
    const json = request.body as ReturnType<typeof readJson> | undefined
    if (row?.body !== undefined && json === undefined) throw refusal('INVALID_JSON')
    const body = json === undefined ? undefined : row?.body?.(json.fields, json.isPlain)
    const input: Input<unknown, unknown> = {
      query,
      body,
      originCountry,
      settings: { ...edge, environment: 'local' },
    }
    const asked = row?.read(input)
    const apiKey = credential.kind === 'api_key' ? credential.of(input) : ''
    const merchantId = await openMerchant(projectId, apiKey)
    return operate(asked, { projectId, merchantId })
  }

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
        const told = await runWithContext(context, () => answer(request))
        return reply.code(told.code).send(successBody(facts, told))
      } catch (error) {
        const failure = publicFailure(error)
        const code = reasons[failure.reason].http
        return reply.code(code).send(errorBody(facts, failure, code))
      }
    },
  })
}

function openProject(subscriptionKey: string): Project | Promise<Project> {
  return projects.get(digest(subscriptionKey), async () => {
    const found = await authenticateSubscriptionKey(accounts, secrets, subscriptionKey, 'sandbox')
    const { projectId, allowedIps } = found.project
    const allowsAddress = allowedIps.length === 0 ? undefined : parseRanges(allowedIps)
    return { projectId, keyId: found.keyId, allowsAddress }
  })
}

function openMerchant(projectId: string, apiKey: string): string | Promise<string> {
  return keys.get(digest(`${projectId} ${apiKey}`), async () => {
    const { merchantId } = await authenticateApiKey(accounts, secrets, projectId, apiKey)
    return merchantId
  })
}

async function loadMerchant(projectId: string, merchantId: string): Promise<Merchant> {
  const found = await findMerchant(accounts, projectId, merchantId)
  if (found === undefined) throw refusal('PW_INVALID_API_KEY')
  return found
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64')
}

function viewOf(payment: Payment): PaymentView {
  const { payers, payees } = payment
  return {
    ...payment,
    payers: payers.map((payer) => ({
      ...payer,
      linkToken: payer.hasLink ? linkToken(linkKey, payer.payerId) : '',
    })),
    payees: payees.map((payee) => ({ ...payee, feesCovered: payee.feeMinor === 0n })),
  }
}
