// Authenticates callers through the accounts service and caches the result for seconds; never keeps or logs a key.
import { hash } from 'node:crypto'
import type { Client } from '@connectrpc/connect'
import { type AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Environment as PayweaveEnvironment } from '#platform/config/setting.ts'
import { withProject } from '#platform/rpc/client/client.ts'
import { type Lookup, ttlCache } from '#platform/rpc/client/ttl-cache.ts'
import { type CallContext, currentContext, runWithContext } from '#platform/rpc/context.ts'
import { refusal, toPublicError } from '../http/envelope.ts'
import { type AddressMatch, parseRanges } from '../http/headers.ts'

/** A project whose subscription key was accepted. */
export type OpenedProject = {
  projectId: string
  /** The key's id, fit for logs and counters. */
  keyId: string
  accountAccess: boolean
  /** Absent when any address may call. */
  allowsAddress: AddressMatch | undefined
}

/** The checks of credentials that the edge makes. */
export type Access = {
  /** Throws PW_INVALID_SUBSCRIPTION_KEY. */
  openProject(subscriptionKey: string): OpenedProject | Promise<OpenedProject>
  /** The project of a subscription key that the cache holds as accepted. Makes no call. */
  acceptedProject(subscriptionKey: string | string[] | undefined): string | undefined
  /** The id of the merchant whose key it is. Throws PW_INVALID_API_KEY. */
  findMerchant(projectId: string, apiKey: string): string | Promise<string>
  /** Throws PW_INSTITUTION_ENDPOINT_NOT_ALLOWED. `endpoint` is "<METHOD> <path>". */
  checkGrant(projectId: string, institution: string, endpoint: string): void | Promise<void>
  /** Drops what is cached about a project whose access has changed. Without a project it drops everything: a change may have been missed. */
  drop(projectId?: string): void
}

export type AccessOptions = {
  accounts: Pick<
    Client<typeof AccessService>,
    'authenticateSubscriptionKey' | 'authenticateApiKey' | 'checkGrant'
  >
  environment: PayweaveEnvironment
  onLookup?: (kind: 'subscription_key' | 'api_key' | 'grant', outcome: Lookup) => void
  /** Whether changes of access arrive now, so that `drop` is called. False by default. */
  isSubscribed?: () => boolean
  nowMs?: () => number
}

type GrantRequest = { projectId: string; institutionName: string; endpoint: string }

const acceptedTtlMs = 5_000
/** How long an expired entry is used while accounts is unavailable or slow. */
const acceptedStaleIfErrorMs = 30_000
const refusedTtlMs = 1_000
const maxEntries = 10_000

/**
 * Caches by SHA-256 of the key. A failed look-up is never cached. An accepted key is cached for 5 s, and while accounts
 * is unavailable or slow for 30 s more, but only while invalidations arrive: otherwise a revoked key would be accepted. Keys
 * that are refused, however many, take no room from accepted ones.
 */
export function createAccess(options: AccessOptions): Access {
  const { accounts, onLookup, isSubscribed = () => false, nowMs } = options
  const isProduction = options.environment === 'production'
  const environment = isProduction ? Environment.PRODUCTION : Environment.SANDBOX
  const clock = nowMs === undefined ? {} : { nowMs }
  const acceptance = {
    maxEntries,
    isSubscribed,
    ...clock,
    ttlMs: () => acceptedTtlMs,
    staleIfErrorMs: () => acceptedStaleIfErrorMs,
  }
  const projects = ttlCache<OpenedProject>({
    ...acceptance,
    refusedTtlMs: ({ reason }) => (reason === 'PW_INVALID_SUBSCRIPTION_KEY' ? refusedTtlMs : 0),
    onLookup: (outcome) => onLookup?.('subscription_key', outcome),
  })
  const merchants = ttlCache<string>({
    ...acceptance,
    refusedTtlMs: ({ reason }) => (reason === 'PW_INVALID_API_KEY' ? refusedTtlMs : 0),
    onLookup: (outcome) => onLookup?.('api_key', outcome),
  })
  const grants = ttlCache<void>({
    ...acceptance,
    refusedTtlMs: ({ reason }) =>
      reason === 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED' ? refusedTtlMs : 0,
    onLookup: (outcome) => onLookup?.('grant', outcome),
  })

  async function loadProject(subscriptionKey: string): Promise<OpenedProject> {
    const found = await accounts.authenticateSubscriptionKey({ subscriptionKey, environment })
    const { project, keyId } = found
    if (project === undefined) throw refusal('PW_INVALID_SUBSCRIPTION_KEY')
    const { projectId, accountAccess, allowedIps } = project
    const allowsAddress = allowedIps.length === 0 ? undefined : parseRanges(allowedIps)
    return { projectId, keyId, accountAccess, allowsAddress }
  }

  async function loadMerchant(projectId: string, apiKey: string): Promise<string> {
    const request = { projectId, apiKey }
    const { merchant } = await accounts.authenticateApiKey(request, withProject(projectId))
    if (merchant === undefined) throw refusal('PW_INVALID_API_KEY')
    return merchant.merchantId
  }

  async function loadGrant(request: GrantRequest): Promise<void> {
    const { granted } = await accounts.checkGrant(request, withProject(request.projectId))
    if (!granted) throw refusal('PW_INSTITUTION_ENDPOINT_NOT_ALLOWED')
  }

  return {
    openProject: (key) => projects.get(digest(key), () => detached(() => loadProject(key))),
    acceptedProject: (key = '') => projects.peek(digest(String(key)))?.projectId,
    findMerchant: (projectId, key) =>
      merchants.get(`${projectId} ${digest(key)}`, () =>
        detached(() => loadMerchant(projectId, key)),
      ),
    checkGrant(projectId, institutionName, endpoint) {
      const key = `${projectId} ${digest(`${endpoint} ${institutionName}`)}`
      const request = { projectId, institutionName, endpoint }
      return grants.get(key, () => detached(() => loadGrant(request)))
    },
    drop(projectId = '') {
      const isTheirs = (key: string) => key.startsWith(projectId)
      projects.drop((_, project) => project.projectId.startsWith(projectId))
      merchants.drop(isTheirs)
      grants.drop(isTheirs)
    },
  }
}

/** Other callers share this look-up, so the deadline or disconnect of the first one must not cancel it. */
function detached<T>(ask: () => Promise<T>): Promise<T> {
  const context = currentContext()
  if (context === undefined) return ask().catch(toPublicError())
  const shared: CallContext = { requestId: context.requestId, traceparent: context.traceparent }
  return runWithContext(shared, ask).catch(toPublicError())
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64')
}
