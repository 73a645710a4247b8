// The rule of the second person: one requests, another one approves, and what was requested is executed once.
import { Failure } from '#core/errors/errors.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import { auditName, currentContext } from '#platform/rpc/context.ts'
import {
  type Actor,
  type Approval,
  type ApprovalKey,
  type ApprovalState,
  decideApproval,
  findWaiting,
  insertApproval,
  readApproval,
  type Wanted,
} from './approval-store.ts'

/** Runs statements in the transaction that stores an approval; rejects with APPROVAL_CLOSED when another has decided. */
export type Within = <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>

/**
 * Executes what was approved, all of it by one call of `within`, and answers when it is committed. It may run again after a
 * failure, so it has no effect before that.
 */
export type Execute = (approval: Approval, actor: Actor, within: Within) => Promise<void>

/** Who calls, for the audit. */
export function currentActor(): Actor {
  const context = currentContext()
  return { caller: auditName(context?.caller), requestId: context?.requestId }
}

/** Whether the call is made by hand: for a person or by a bearer. A process of ours acts for clients by the contract. */
export function isByHand(): boolean {
  const caller = currentContext()?.caller
  return caller?.kind !== 'service' || caller.person !== undefined
}

/**
 * Stores a request for a second person, in the transaction that the caller runs. A repeat by its requester returns the
 * stored one. Throws APPROVAL_OPEN when somebody else, or another outcome, waits.
 */
export async function requestApproval(
  tx: Queryable,
  actor: Actor,
  wanted: Wanted,
): Promise<{ approval: Approval; isNew: boolean }> {
  for (;;) {
    const made = await insertApproval(tx, actor, wanted)
    if (made !== undefined) return { approval: made, isNew: true }
    const open = await findWaiting(tx, wanted)
    // It was decided in between.
    if (open === undefined) continue
    if (isSame(open.requester, actor) && open.outcome === wanted.outcome) {
      return { approval: open, isNew: false }
    }
    throw new Failure(
      'APPROVAL_OPEN',
      `${shortName(open.requester)} has requested a decision on it`,
      {
        details: { approval_id: open.approvalId, requester: open.requester },
      },
    )
  }
}

/**
 * Approves a request and executes it in the same transaction; a repeat by the same caller changes nothing. Throws
 * APPROVAL_NOT_FOUND, APPROVAL_OWN, APPROVAL_CLOSED and what `execute` throws; then nothing is stored.
 */
export async function approve(
  db: Database,
  actor: Actor,
  key: ApprovalKey,
  execute: Execute,
): Promise<Approval> {
  const found = await find(db, key)
  if (isSame(found.requester, actor)) {
    throw new Failure('APPROVAL_OWN', 'another person than the requester must approve it')
  }
  if (isUnclear(found.requester, actor)) {
    throw new Failure(
      'APPROVAL_OWN',
      'its requester is named in another way: reject it, and request it again',
    )
  }
  if (isDecidedBy(found, actor, 'approved')) return found
  let approved: Approval | undefined
  const within: Within = (work) =>
    db.transaction(async (tx) => {
      approved = await decideApproval(tx, key, actor, 'approved', '')
      if (approved === undefined) throw closed()
      return await work(tx)
    })
  try {
    await execute(found, actor, within)
  } catch (error) {
    return await repeated(db, actor, key, 'approved', error)
  }
  if (approved === undefined) throw new Error('an approval was executed without its row')
  return approved
}

/**
 * Rejects a request, also one's own; a repeat by the same caller changes nothing. Throws APPROVAL_NOT_FOUND and
 * APPROVAL_CLOSED.
 */
export async function reject(
  db: Database,
  actor: Actor,
  key: ApprovalKey,
  note: string,
): Promise<Approval> {
  await find(db, key)
  const rejected = await decideApproval(db, key, actor, 'rejected', note)
  return rejected ?? (await repeated(db, actor, key, 'rejected', closed()))
}

/** The approval where the same caller has decided the same, else rejects with `error`. */
async function repeated(
  db: Database,
  actor: Actor,
  key: ApprovalKey,
  state: ApprovalState,
  error: unknown,
): Promise<Approval> {
  if (!(error instanceof Failure) || error.reason !== 'APPROVAL_CLOSED') throw error
  const now = await find(db, key)
  if (isDecidedBy(now, actor, state)) return now
  throw error
}

async function find(db: Queryable, key: ApprovalKey): Promise<Approval> {
  const found = await readApproval(db, key)
  if (found !== undefined) return found
  throw new Failure('APPROVAL_NOT_FOUND', 'there is no such approval')
}

function isDecidedBy(approval: Approval, { caller }: Actor, state: ApprovalState): boolean {
  return approval.state === state && approval.decider === caller
}

/** The issuer by which the console names a person; undefined for an e-mail address. */
function issuerOf(name: string): string | undefined {
  return /^console:(https?:\/\/[^#]+)#./.exec(name)?.[1]?.toLowerCase()
}

/**
 * Whether two people are named by different issuers, or one of them by an e-mail address, as the previous release named them: they may
 * be the same person.
 */
function isUnclear(name: string, { caller }: Actor): boolean {
  const arePeople = [name, caller].every((one) => one.startsWith('console:'))
  return arePeople && issuerOf(name) !== issuerOf(caller)
}

/** Whether a name of the audit is the caller's; names of the previous release were addresses, in any case of letters. */
function isSame(name: string, { caller }: Actor): boolean {
  return name.toLowerCase() === caller.toLowerCase()
}

function shortName(name: string): string {
  return name.replace(/^console:/, '')
}

function closed(): Failure {
  return new Failure('APPROVAL_CLOSED', 'the request was decided, or has expired')
}
