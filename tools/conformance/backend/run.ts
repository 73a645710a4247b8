// Runs the checks of a back end, some concurrently, and returns their results.
import path from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import type { CallOptions, Client } from '@connectrpc/connect'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import { type Identity, openIdentity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import type { Result } from '../run.ts'
import { type BackendCheck, type CheckContext, statusOfError } from './check.ts'
import type { OutcomeMap } from './outcome-map.ts'
import { type ReportPorts, type Reports, serveReports } from './reports.ts'

/** A back end and Payweave's side of it. */
export type BackendTarget = {
  /** Where the back end serves its RPCs. */
  url: string
  /** The name under which Payweave knows the back end: its tokens are for it. */
  audience: string
  /** Folder with the secrets of each process in a folder of its name. */
  secrets: string
  map: OutcomeMap
  /** Where the reports of the back end are taken. */
  host: string
  ports: ReportPorts
  pagesOrigin: string
  executionsUrl: string | undefined
  /** What fills in forms that a script makes. */
  formsUrl: string | undefined
}

export type BackendRunOptions = {
  /** How many checks run side by side. */
  atOnce: number
  signal: AbortSignal
  onResult?: (result: Result) => void
}

type Call = Result['exchanges'][number]
type Setting = {
  target: BackendTarget
  pool: RpcPool
  reports: Reports
  identityOf: (name: string) => Identity
  signal: AbortSignal
}

/**
 * Serves Payweave's side and runs the checks. The results stand in the order of the checks. Rejects when a secret is absent
 * or a port is taken.
 */
export async function runBackendChecks(
  target: BackendTarget,
  checks: readonly BackendCheck[],
  options: BackendRunOptions,
): Promise<Result[]> {
  const log = createLogger({ part: 'conformance', level: 'silent' })
  const identities = new Map<string, Identity>()
  const identityOf = (name: string) => {
    const dir = path.join(target.secrets, name)
    const identity = identities.get(name) ?? openIdentity({ name, dir, log })
    identities.set(name, identity)
    return identity
  }
  const { host, ports, url } = target
  const reports = await serveReports({ host, ports, identityOf, log })
  const pool = createRpcPool(url)
  const setting = { target, pool, reports, identityOf, signal: options.signal }
  try {
    return await runEach(setting, checks, options)
  } finally {
    await Promise.all([pool.close(), reports.close()])
  }
}

async function runEach(
  setting: Setting,
  checks: readonly BackendCheck[],
  { atOnce, signal, onResult }: BackendRunOptions,
): Promise<Result[]> {
  const results: Result[] = []
  const waiting = checks.entries()
  const work = async () => {
    for (const [index, check] of waiting) {
      if (signal.aborted) return
      const result = await runOne(setting, check)
      results[index] = result
      onResult?.(result)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return results.filter((result) => result !== undefined)
}

async function runOne(setting: Setting, check: BackendCheck): Promise<Result> {
  const { name, rule, needs } = check
  const { outcomes } = setting.target.map
  const lacking = needs
    .map((need) => [need].flat())
    .filter((any) => any.every((name) => outcomes[name] === undefined))
    .map((any) => any.join(' or '))
  const exchanges: Call[] = []
  const startedMs = performance.now()
  const result = (state: Result['result'], reason?: string): Result => {
    const durationMs = Math.round(performance.now() - startedMs)
    return {
      name,
      rule,
      result: state,
      ...(reason !== undefined && { reason }),
      durationMs,
      exchanges,
    }
  }
  const groups: readonly string[] = outcomes.unsupported?.groups ?? []
  const [group = ''] = name.split('/')
  if (groups.includes(group)) return result('skipped', `unsupported: the rail has no ${group}`)
  if (lacking.length > 0) return result('skipped', `the map has no ${lacking.join(', ')}`)
  const expected: string[] = []
  try {
    await check.run(contextOf(setting, exchanges, expected))
    return result('passed')
  } catch (error) {
    if (setting.signal.aborted) return result('skipped', 'ended before')
    return result('failed', error instanceof Error ? error.message : String(error))
  } finally {
    for (const report of expected.flatMap((id) => setting.reports.of(id))) {
      const status = report.accepted ? 'accepted' : 'refused'
      const path = `${report.rpc} ${report.outcome} ${report.attemptId}`.trim()
      exchanges.push({ method: 'report', path, status, requestId: report.id, durationMs: 0 })
    }
  }
}

function contextOf(setting: Setting, exchanges: Call[], expected: string[]): CheckContext {
  const { target, pool, reports, identityOf, signal } = setting
  const { url, map, audience } = target
  // A test environment may be slow; how fast it is is not checked.
  const timeoutMs = map.outcome_within_ms
  const clientAs = <S extends DescService>(service: S, identity: Pick<Identity, 'authorization'>) =>
    recorded(
      service,
      createRpcClient(service, { url, audience, identity, pool, timeoutMs }),
      exchanges,
    )
  return {
    charges: clientAs(ChargeService, identityOf('payments')),
    payouts: clientAs(PayoutService, identityOf('payments')),
    reviews: clientAs(ReviewService, identityOf('accounts')),
    transfers: clientAs(TransferService, identityOf('institution')),
    bills: clientAs(BillerService, identityOf('billing')),
    rates: clientAs(RateService, identityOf('quotes')),
    map,
    outcome(name) {
      const values = map.outcomes[name]
      if (values === undefined) throw new Error(`the check does not say that it needs ${name}`)
      return values as never
    },
    reports: {
      ...reports,
      expect(id) {
        expected.push(id)
        reports.expect(id)
      },
    },
    chargesAs: (identity) => clientAs(ChargeService, identity),
    identityOf,
    pagesOrigin: target.pagesOrigin,
    executionsUrl: target.executionsUrl,
    formsUrl: target.formsUrl,
    signal,
  }
}

type Unary = (request: object, options?: CallOptions) => Promise<unknown>

/** A client that notes each call with its status and duration. */
function recorded<S extends DescService>(
  service: S,
  client: Client<S>,
  exchanges: Call[],
): Client<S> {
  const methods = service.methods.map((method): [string, Unary] => [
    method.localName,
    async (request, options) => {
      const startedMs = performance.now()
      const exchange: Call = {
        method: 'call',
        path: `${service.name}/${method.name}`,
        status: 'ok',
        requestId: referenceOf(request),
        durationMs: 0,
      }
      exchanges.push(exchange)
      try {
        return await (client as unknown as Record<string, Unary>)[method.localName]?.(
          request,
          options,
        )
      } catch (error) {
        exchange.status = statusOfError(error)
        throw error
      } finally {
        exchange.durationMs = Math.round(performance.now() - startedMs)
      }
    },
  ])
  return Object.fromEntries(methods) as Client<S>
}

const references = [
  'attemptId',
  'payoutId',
  'refundId',
  'transferId',
  'billPaymentId',
  'reviewId',
  'challengeId',
  'chargeId',
]

/** The reference that a call is about, for the report. */
function referenceOf(request: object): string {
  const fields = request as Record<string, unknown>
  const name = references.find((field) => typeof fields[field] === 'string')
  return name === undefined ? '' : String(fields[name])
}
