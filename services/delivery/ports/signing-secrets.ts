// Fetches signing secrets from accounts and caches them for seconds; never stores, logs or throws one.
import type { Client } from '@connectrpc/connect'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'

/** Signing secrets of institutions. */
export interface SigningSecrets {
  /** Live secrets of an institution, newest first. Throws the Failure of the call. */
  of(institutionId: string): Promise<readonly string[]>
  /** Forgets all, also what is being asked for now. */
  drop(): void
}

/** How long an answer, and how long a failure, may be used. An invalidation ends both immediately. */
const rememberMs = { secrets: 5_000, failure: 1_000 }
const maxCached = 1_000
/** Short beside the lease of an attempt, which waits for the answer. */
const askTimeoutMs = 3_000

type Remembered = { secrets: Promise<readonly string[]>; untilMs: number }

/** Starts with nothing remembered. Attempts that come together share one question. */
export function signingSecrets(
  access: Pick<Client<typeof AccessService>, 'getSigningSecrets'>,
  nowMs: () => number = () => performance.now(),
): SigningSecrets {
  const remembered = new Map<string, Remembered>()

  async function ask(institutionId: string): Promise<readonly string[]> {
    const answer = await access.getSigningSecrets({ institutionId }, { timeoutMs: askTimeoutMs })
    if (answer.signingSecrets.length === 0) throw new Error('the answer has no signing secret')
    return answer.signingSecrets
  }

  return {
    of(institutionId) {
      const known = remembered.get(institutionId)
      if (known !== undefined && nowMs() < known.untilMs) return known.secrets
      const secrets = ask(institutionId)
      const entry = { secrets, untilMs: nowMs() + rememberMs.secrets }
      remembered.delete(institutionId)
      remembered.set(institutionId, entry)
      if (remembered.size > maxCached) forgetOldest(remembered)
      secrets.catch(() => {
        entry.untilMs = nowMs() + rememberMs.failure
      })
      return secrets
    },
    drop: () => remembered.clear(),
  }
}

function forgetOldest(remembered: Map<string, unknown>): void {
  const oldest = remembered.keys().next()
  if (oldest.done !== true) remembered.delete(oldest.value)
}
