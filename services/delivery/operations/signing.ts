// Creates the headers of each attempt of a signed push; never stores, logs or returns a secret.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { signWebhook } from '#core/identity/seal.ts'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Database } from '#platform/db/db.ts'
import { subscribeInvalidation } from '#platform/events/invalidation.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Claimed, PostEnd } from '../domain/delivery.ts'
import { signingSecrets } from '../ports/signing-secrets.ts'
import { findSigning } from '../store/signing-store.ts'

/** Headers of a signed push. */
export type SignedHeaders = { 'authorisation-token': string; 'pw-signature': string }

/** Headers for one attempt, or the end of an attempt that cannot be signed. Never throws. */
export type Sign = (
  claimed: Pick<Claimed, 'deliveryId' | 'body' | 'startedAt'>,
) => Promise<{ headers: SignedHeaders } | { end: PostEnd }>

/** Dependencies of a signer. */
export interface SignerOptions {
  db: Database
  nats: Nats
  log: Logger
  access: Pick<Client<typeof AccessService>, 'getSigningSecrets'>
  /** Replaces the clock by which secrets are forgotten. */
  nowMs?: (() => number) | undefined
}

const accessSubject = 'pw.accounts.access'

/**
 * Signs with every live secret, at the time of the attempt. If the secrets cannot be fetched, the attempt ends as `unsigned`,
 * which uses up none of the schedule; a push that can never be signed ends as `blocked`. Secrets are cached for seconds, and
 * dropped at any change of access.
 */
export function startSigner({ db, nats, log, access, nowMs }: SignerOptions): {
  sign: Sign
  close(): void
} {
  const secrets = signingSecrets(access, nowMs)
  const { drop } = secrets
  const invalidation = subscribeInvalidation({
    nats,
    subject: accessSubject,
    log,
    onEvent: drop,
    onGap: drop,
  })
  const sign: Sign = async ({ deliveryId, body, startedAt }) => {
    try {
      const signing = await findSigning(db, deliveryId)
      if (signing === undefined) return unsignable('signing_unknown')
      const unixS = Math.floor(startedAt.getTime() / 1_000)
      const signature = signWebhook(await secrets.of(signing.institutionId), unixS, body)
      const headers = {
        'authorisation-token': signing.authorisationTokenSealed,
        'pw-signature': signature,
      }
      return { headers }
    } catch (error) {
      log.warn({ deliveryId, err: error }, 'push not signed')
      if (error instanceof Failure && error.reason === 'INSTITUTION_NOT_FOUND') {
        return unsignable('institution_unknown')
      }
      return { end: { outcome: 'unsigned', error: 'signing_unavailable', totalMs: 0 } }
    }
  }
  return { sign, close: invalidation.close }
}

function unsignable(error: string): { end: PostEnd } {
  return { end: { outcome: 'unsigned', unsignable: true, error, totalMs: 0 } }
}
