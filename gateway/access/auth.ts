// Authenticates callers through the accounts service and caches the result for seconds; never keeps or logs a key.
import { hash } from 'node:crypto'
import type { Client } from '@connectrpc/connect'
import { type AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Environment as PayweaveEnvironment } from '#platform/config/setting.ts'
import { withProject } from '#platform/rpc/client/client.ts'
import { type CallContext, currentContext, runWithContext } from '#platform/rpc/context.ts'
import { type AddressMatch, parseRanges } from '../http/client-ip.ts'
import { refusal, toPublicError } from '../http/envelope.ts'
import { type Lookup, ttlCache } from './ttl-cache.ts'

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
  /** Forgets the answers about a project whose access has changed; all of them for any project, or when a change may have been missed. */
  drop(projectId?: string): void
}

export type AccessOptions = {
  accounts: Pick<
    Client<typeof AccessService>,
    'authenticateSubscriptionKey' | 'authenticateApiKey' | 'checkGrant'
  >
  environment: PayweaveEnvironment
  onLookup?: (kind: 'subscription_key' | 'api_key' | 'grant', outcome: Lookup) => void
  /** Whether a change of access would be heard of now, so that `drop` is called. Never, by default. */
  hearsChanges?: () => boolean
  nowMs?: () => number
}

const acceptedLifeMs = 5_000
/** For so long past that, it is good while accounts does not answer. */
const acceptedStaleMs = 30_000
const refusedLifeMs = 1_000
const maxEntries = 10_000

/**
 * Caches by SHA-256 of the key. A failed look-up is never cached. An accepted key is good for 5 s, and while accounts
 * is unavailable or slow for 30 s more, as long as invalidations arrive: no new key is accepted, and a revoked key
 * does not live on.
 */
export function createAccess(options: AccessOptions): Access {
  const { accounts, environment, onLookup, hearsChanges = () => false, nowMs } = options
  const world = environment === 'production' ? Environment.PRODUCTION : Environment.SANDBOX
  const clock = nowMs === undefined ? {} : { nowMs }
  const common = { maxEntries, hearsDrops: hearsChanges, ...clock }
  const remembered = {
    ...common,
    lifeMs: () => acceptedLifeMs,
    staleMs: () => acceptedStaleMs,
  }
  const projects = ttlCache<OpenedProject>({
    ...remembered,
    refusedLifeMs: ({ reason }) => (reason === 'PW_INVALID_SUBSCRIPTION_KEY' ? refusedLifeMs : 0),
    onLookup: (outcome) => onLookup?.('subscription_key', outcome),
  })
  const merchants = ttlCache<string>({
    ...remembered,
    refusedLifeMs: ({ reason }) => (reason === 'PW_INVALID_API_KEY' ? refusedLifeMs : 0),
    onLookup: (outcome) => onLookup?.('api_key', outcome),
  })
  const grants = ttlCache<boolean>({
    ...common,
    lifeMs: (granted) => (granted ? acceptedLifeMs : refusedLifeMs),
    staleMs: (granted) => (granted ? acceptedStaleMs : 0),
    refusedLifeMs: () => 0,
    onLookup: (outcome) => onLookup?.('grant', outcome),
  })

  async function loadProject(subscriptionKey: string): Promise<OpenedProject> {
    const found = await accounts.authenticateSubscriptionKey({
      subscriptionKey,
      environment: world,
    })
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

  return {
    openProject: (key) => projects.get(digest(key), () => detached(() => loadProject(key))),
    acceptedProject: (key = '') => projects.peek(digest(String(key)))?.projectId,
    findMerchant: (projectId, key) =>
      merchants.get(`${projectId} ${digest(key)}`, () =>
        detached(() => loadMerchant(projectId, key)),
      ),
    async checkGrant(projectId, institutionName, endpoint) {
      const key = `${projectId} ${digest(`${endpoint} ${institutionName}`)}`
      const request = { projectId, institutionName, endpoint }
      const granted = await grants.get(key, () =>
        detached(async () => {
          const answer = await accounts.checkGrant(request, withProject(projectId))
          return answer.granted
        }),
      )
      if (!granted) throw refusal('PW_INSTITUTION_ENDPOINT_NOT_ALLOWED')
    },
    drop(projectId = '') {
      const isTheirs = (key: string) => key.startsWith(projectId)
      projects.drop((_, project) => project.projectId.startsWith(projectId))
      merchants.drop(isTheirs)
      grants.drop(isTheirs)
    },
  }
}

/** Others wait for this answer too: the first one's deadline or disconnect must not cancel it for them. */
function detached<T>(ask: () => Promise<T>): Promise<T> {
  const context = currentContext()
  if (context === undefined) return ask().catch(toPublicError())
  const shared: CallContext = { requestId: context.requestId, traceparent: context.traceparent }
  return runWithContext(shared, ask).catch(toPublicError())
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64')
}
