// The keys of a project, as accounts serves them: two subscription keys, one of them revoked, and an API key.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { type AccessService, KeyState } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Project } from '../projects.ts'
import { type Many, time } from '../rows.ts'

/** The RPCs of keys, and what tests set and read of them. `seen` is called with each change. */
export function keyPeers(
  of: (projectId: string) => Project,
  many: Many,
  seen: (rpc: string) => void,
) {
  const keys = {
    /** As a replica of the previous release, without the filter, answers: with every key, a newer one of another merchant first. */
    ignoresId: false,
    /** The merchants for which API keys were issued. */
    issuedFor: new Array<string>(),
  }
  const newer = { keyId: randomUUID(), merchantId: randomUUID(), issueTime: time }
  const access = {
    listSubscriptionKeys({ projectId, keyId: one, state }) {
      const { keyId } = of(projectId)
      if (keys.ignoresId) return { keys: [newer, { keyId, issueTime: time }] }
      const old = { keyId: randomUUID(), issueTime: time, revokeTime: time }
      const ofStates = [
        [KeyState.ACTIVE, { keyId, issueTime: time }],
        [KeyState.REVOKED, old],
      ] as const
      const listed = ofStates.filter(([its]) => state === KeyState.UNSPECIFIED || state === its)
      return { keys: listed.map(([, key]) => key).filter((key) => one === '' || key.keyId === one) }
    },
    listApiKeys({ projectId, keyId: one, state }) {
      const { payment, keyId } = of(projectId)
      const own = { keyId, merchantId: payment.merchantId, issueTime: time }
      if (keys.ignoresId) return { keys: [newer, own] }
      if (state === KeyState.REVOKED) return {}
      return one !== '' && one !== keyId ? {} : { keys: many(own, 200) }
    },
    issueSubscriptionKey({ projectId }) {
      seen('IssueSubscriptionKey')
      return { keyId: randomUUID(), subscriptionKey: `pwk_test_${of(projectId).secret}` }
    },
    issueApiKey({ projectId, merchantId }) {
      seen('IssueApiKey')
      keys.issuedFor.push(merchantId)
      return { keyId: randomUUID(), apiKey: of(projectId).secret }
    },
    revokeSubscriptionKey({ keyId, projectId }) {
      seen('RevokeSubscriptionKey')
      if (keyId !== of(projectId).keyId) throw new Failure('KEY_NOT_FOUND', 'no such key')
      return {}
    },
    revokeApiKey({ keyId, projectId }) {
      seen('RevokeApiKey')
      if (keyId !== of(projectId).keyId) throw new Failure('KEY_NOT_FOUND', 'no such key')
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof AccessService>>
  return { keys, access }
}
