// Runs a change of access in one transaction with its audit entry and its event.

import { Failure } from '#core/errors/errors.ts'
import { digestsEqual, fingerprint } from '#core/identity/digest.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import { auditName, currentContext } from '#platform/rpc/context.ts'
import type { AccountSecrets } from '../domain/at-rest.ts'
import { insertAudit } from '../store/project-store.ts'
import { claimRequest, type DoneRequest, recordRequest } from '../store/request-store.ts'

/** Who asks for a change, for the audit. */
export type Actor = {
  caller: string
  requestId: string | undefined
  /** The idempotency key: a change that was made under it is not made again. */
  onceId?: string | undefined
}

/** Who asks, for the audit; `onceId` is the request's own id, empty for none. */
export function actor(onceId = ''): Actor {
  const context = currentContext()
  return {
    caller: auditName(context?.caller),
    requestId: context?.requestId,
    onceId: onceId === '' ? undefined : onceId,
  }
}

/** Dependencies of administration: the database, the secrets, and the publisher of access changes. */
export type Administration = {
  db: Database
  secrets: AccountSecrets
  /** Writes the event to the outbox in the same transaction; undefined: of no single project. */
  publishAccessChanged(tx: Queryable, projectId: string | undefined): Promise<void>
  /** Notifies the outbox after a commit. */
  notify(): void
}

/** A change that was made, as the audit records it. */
export type Change<T> = {
  action: string
  targetId: string
  projectId: string | undefined
  /** Further facts for the audit; no secrets. */
  details?: Record<string, string>
  /** Whether it was so before: then nothing is written. */
  isRepeat?: boolean
  result: T
}

/** How a change with an idempotency key handles a repeat. */
export type IdempotentChange<T> = {
  /** The whole content of the request: a repeat must have the same. */
  content: unknown
  /** Answers a repeat; without it a repeat is REQUEST_DONE, since secrets are shown once. */
  repeat?: (tx: Queryable, targetId: string) => Promise<T>
}

/** Runs a change with its audit entry and its event in one transaction; with `once` and an id, only the first time. */
export async function change<T>(
  { db, publishAccessChanged, notify }: Administration,
  actor: Actor,
  work: (tx: Queryable) => Promise<Change<T>>,
  once?: IdempotentChange<T>,
): Promise<T> {
  const { onceId, ...who } = actor
  const result = await db.transaction(async (tx) => {
    const done = once === undefined ? undefined : await claim(tx, actor, once.content)
    if (once !== undefined && done !== undefined) {
      return once.repeat === undefined ? refuseRepeat(done) : once.repeat(tx, done.targetId)
    }
    const { result, isRepeat = false, ...made } = await work(tx)
    if (isRepeat) return result
    if (once !== undefined && onceId !== undefined) {
      const keyId = made.details?.['key_id'] ?? ''
      await recordRequest(tx, onceId, { targetId: made.targetId, keyId })
    }
    await insertAudit(tx, { ...who, ...made })
    await publishAccessChanged(tx, made.projectId)
    return result
  })
  notify()
  return result
}

async function claim(
  tx: Queryable,
  { caller, onceId }: Actor,
  content: unknown,
): Promise<DoneRequest | undefined> {
  if (onceId === undefined) return undefined
  const digest = fingerprint([caller, content])
  const done = await claimRequest(tx, onceId, digest)
  if (done === undefined || digestsEqual(done.fingerprint, digest)) return done
  throw new Failure('REQUEST_ID_REUSED', 'request_id was used before with other content', {
    details: { field: 'request_id' },
  })
}

function refuseRepeat({ targetId, keyId }: DoneRequest): never {
  throw new Failure(
    'REQUEST_DONE',
    `this request was already executed and created ${keyId || targetId}`,
    {
      details: { target_id: targetId, key_id: keyId },
    },
  )
}
