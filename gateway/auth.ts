// Who calls and what he may do, asked of the accounts service and remembered for seconds; it must not keep or log a key.
import { hash } from 'node:crypto'
import type { Client } from '@connectrpc/connect'
import { type AccessService, Environment } from '#gen/accounts/v1/access_pb.js'
import { withProject } from '#runtime/rpc/client.ts'
import { type CallContext, currentContext, runWithContext } from '#runtime/rpc/context.ts'
import type { Environment as PayweaveEnvironment } from '#runtime/setting.ts'
import { answerCache } from './answer-cache.ts'
import { type AddressMatch, parseRanges } from './client-ip.ts'
import { refusal, retell } from './envelope.ts'

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
  /** Whether the cache holds this subscription key as accepted. Makes no call. */
  isAccepted(subscriptionKey: string): boolean
  /** The id of the merchant whose key it is. Throws PW_INVALID_API_KEY. */
  findMerchant(projectId: string, apiKey: string): string | Promise<string>
  /** Throws PW_INSTITUTION_ENDPOINT_NOT_ALLOWED. `endpoint` is "<METHOD> <path>". */
  checkGrant(projectId: string, institution: string, endpoint: string): void | Promise<void>
  /** Forgets all answers: something about access has changed, or news of it may have been missed. */
  drop(): void
}

export type AccessOptions = {
  accounts: Pick<
    Client<typeof AccessService>,
    'authenticateSubscriptionKey' | 'authenticateApiKey' | 'checkGrant'
  >
  environment: PayweaveEnvironment
  onLookup?: (kind: 'subscription_key' | 'api_key' | 'grant', hit: boolean) => void
  nowMs?: () => number
}

const acceptedLifeMs = 5_000
const refusedLifeMs = 1_000
const maxEntries = 10_000

/**
 * Caches by SHA-256 of the key. A failure to ask is never remembered, and an answer is never used
 * past its life: while accounts is down nobody new gets in and a revoked key does not live on.
 */
export function createAccess({ accounts, environment, onLookup, nowMs }: AccessOptions): Access {
  const world = environment === 'production' ? Environment.PRODUCTION : Environment.SANDBOX
  const common = { maxEntries, ...(nowMs === undefined ? {} : { nowMs }) }
  const remembered = { ...common, lifeMs: () => acceptedLifeMs }
  const projects = answerCache<OpenedProject>({
    ...remembered,
    refusedLifeMs: ({ reason }) => (reason === 'PW_INVALID_SUBSCRIPTION_KEY' ? refusedLifeMs : 0),
    onLookup: (hit) => onLookup?.('subscription_key', hit),
  })
  const merchants = answerCache<string>({
    ...remembered,
    refusedLifeMs: ({ reason }) => (reason === 'PW_INVALID_API_KEY' ? refusedLifeMs : 0),
    onLookup: (hit) => onLookup?.('api_key', hit),
  })
  const grants = answerCache<boolean>({
    ...common,
    lifeMs: (granted) => (granted ? acceptedLifeMs : refusedLifeMs),
    refusedLifeMs: () => 0,
    onLookup: (hit) => onLookup?.('grant', hit),
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
    openProject: (key) => projects.get(digest(key), () => onItsOwn(() => loadProject(key))),
    isAccepted: (key) => projects.has(digest(key)),
    findMerchant: (projectId, key) =>
      merchants.get(digest(`${projectId} ${key}`), () =>
        onItsOwn(() => loadMerchant(projectId, key)),
      ),
    async checkGrant(projectId, institutionName, endpoint) {
      const key = digest(`${projectId} ${endpoint} ${institutionName}`)
      const request = { projectId, institutionName, endpoint }
      const granted = await grants.get(key, () =>
        onItsOwn(async () => {
          const answer = await accounts.checkGrant(request, withProject(projectId))
          return answer.granted
        }),
      )
      if (!granted) throw refusal('PW_INSTITUTION_ENDPOINT_NOT_ALLOWED')
    },
    drop() {
      projects.drop()
      merchants.drop()
      grants.drop()
    },
  }
}

/** Others wait for this answer too: the first one's deadline or departure must not spoil it for them. */
function onItsOwn<T>(ask: () => Promise<T>): Promise<T> {
  const context = currentContext()
  if (context === undefined) return ask().catch(retell())
  const shared: CallContext = { requestId: context.requestId, traceparent: context.traceparent }
  return runWithContext(shared, ask).catch(retell())
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64')
}
