// Fetches signing secrets from accounts and caches them for seconds; never stores, logs or throws one.
import type { Client } from '@connectrpc/connect'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'

/** Signing secrets of institutions. */
export interface SigningSecrets {
  /** Live secrets of an institution, newest first. Throws the Failure of the call. */
  of(institutionId: string): Promise<readonly string[]>
  /** Drops all secrets, also those of look-ups in flight. */
  drop(): void
}

/** How long an answer, and how long a failure, may be used. An invalidation ends both immediately. */
const rememberMs = { secrets: 5_000, failure: 1_000 }
const maxCached = 1_000
/** Much shorter than the lease of the attempt that waits for the look-up. */
const lookUpTimeoutMs = 3_000

type Remembered = { secrets: Promise<readonly string[]>; untilMs: number }

/**
 * Makes an empty cache with single flight. Unlike the TTL cache of the platform it also caches that accounts is unavailable, for a
 * second: every attempt of a signed push needs the secrets.
 */
export function signingSecrets(
  access: Pick<Client<typeof AccessService>, 'getSigningSecrets'>,
  nowMs: () => number = () => performance.now(),
): SigningSecrets {
  const remembered = new Map<string, Remembered>()

  async function lookUp(institutionId: string): Promise<readonly string[]> {
    const answer = await access.getSigningSecrets({ institutionId }, { timeoutMs: lookUpTimeoutMs })
    if (answer.signingSecrets.length === 0) throw new Error('the answer has no signing secret')
    return answer.signingSecrets
  }

  return {
    of(institutionId) {
      const known = remembered.get(institutionId)
      if (known !== undefined && nowMs() < known.untilMs) return known.secrets
      const secrets = lookUp(institutionId)
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
