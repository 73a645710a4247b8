// The keys of a project, as accounts serves them: two subscription keys, one of them revoked, and an API key.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Project } from '../projects.ts'
import { type Many, time } from '../rows.ts'

/** The RPCs of keys. `seen` is called with each change. */
export function keyPeers(
  of: (projectId: string) => Project,
  many: Many,
  seen: (rpc: string) => void,
) {
  return {
    listSubscriptionKeys({ projectId, keyId: one }) {
      const { keyId } = of(projectId)
      const old = { keyId: randomUUID(), issueTime: time, revokeTime: time }
      const keys = [{ keyId, issueTime: time }, old]
      return { keys: keys.filter((key) => one === '' || key.keyId === one) }
    },
    listApiKeys({ projectId, keyId: one }) {
      const { payment, keyId } = of(projectId)
      if (one !== '' && one !== keyId) return {}
      return { keys: many({ keyId, merchantId: payment.merchantId, issueTime: time }, 200) }
    },
    issueSubscriptionKey({ projectId }) {
      seen('IssueSubscriptionKey')
      return { keyId: randomUUID(), subscriptionKey: `pwk_test_${of(projectId).secret}` }
    },
    issueApiKey({ projectId }) {
      seen('IssueApiKey')
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
}
