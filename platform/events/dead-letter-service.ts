// Serves payweave.events.v1.EventDeadLetterService, the same for every producer and consumer.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid } from '#core/errors/errors.ts'
import { type Cursor, cursorIn, endCursor, pageOf, pageSizeOf, tokenOf } from '#core/paging.ts'
import {
  DeadLetterSide,
  type EventDeadLetterService,
} from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import type { Database } from '#platform/db/db.ts'
import { auditName, currentContext } from '#platform/rpc/context.ts'
import { timestampFromMicros } from '#platform/rpc/timestamps.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import {
  endEvent,
  findDeadLetter,
  insertDecision,
  listDeadLetters,
  listDecisions,
  republish,
  type Side,
  type StoredDeadLetter,
  type StoredDecision,
  takeDeadLetter,
} from './dead-letter-store.ts'

/** Where a service has dead letters. */
export type DeadLetterOptions = {
  db: Database
  log: Logger
  sides: readonly Side[]
  /** Called after an event of the outbox has become due. */
  onDue?: () => void
}

/** Before every dead letter. */
const start: Cursor = { at: 0n, id: '00000000-0000-0000-0000-000000000000' }

/**
 * The handlers of EventDeadLetterService. They refuse an unknown dead letter with DEAD_LETTER_NOT_FOUND, a retry of a message that
 * is no event and a bad page token with INVALID_PARAMETER, and reject as a Queryable does.
 */
export function eventDeadLetterService(
  options: DeadLetterOptions,
): ServiceImpl<typeof EventDeadLetterService> {
  const { db, sides } = options
  return {
    async listEventDeadLetters({ eventId, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const after = cursorIn(pageToken)
      const found =
        eventId === ''
          ? await Promise.all(
              sides.map((side) => listDeadLetters(db, side, after ?? start, size + 1)),
            )
          : [await findOfEvent(options, eventId)]
      const page = pageOf(found.flat().toSorted(byAge), size, ({ sinceUs, deadLetterId }) =>
        tokenOf(sinceUs, deadLetterId),
      )
      return { deadLetters: page.rows.map(letterMessage), nextPageToken: page.nextPageToken }
    },
    async retryEventDeadLetter({ deadLetterId }) {
      await decide(options, deadLetterId, { isDiscarded: false, note: '' })
      return {}
    },
    async discardEventDeadLetter({ deadLetterId, note }) {
      await decide(options, deadLetterId, { isDiscarded: true, note })
      return {}
    },
    async listEventDeadLetterDecisions({ eventId, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const before = cursorIn(pageToken) ?? endCursor
      const found = await listDecisions(db, before, size + 1, eventId || undefined)
      const { rows, nextPageToken } = pageOf(found, size, ({ decidedUs, decisionId }) =>
        tokenOf(decidedUs, decisionId),
      )
      return { decisions: rows.map(decisionMessage), nextPageToken }
    },
  }
}

async function findOfEvent(
  { db, sides }: DeadLetterOptions,
  eventId: string,
): Promise<StoredDeadLetter[]> {
  const found = await Promise.all(sides.map((side) => findDeadLetter(db, side, eventId)))
  return found.filter((letter) => letter !== undefined)
}

/** By age, then by id as PostgreSQL compares UUIDs. */
function byAge(one: StoredDeadLetter, other: StoredDeadLetter): number {
  if (one.sinceUs !== other.sinceUs) return one.sinceUs < other.sinceUs ? -1 : 1
  return one.deadLetterId < other.deadLetterId ? -1 : 1
}

/** Ends a dead letter on the side that has it, and writes who decided so, in one transaction. */
async function decide(
  { db, log, sides, onDue }: DeadLetterOptions,
  deadLetterId: string,
  decision: { isDiscarded: boolean; note: string },
): Promise<void> {
  const context = currentContext()
  const who = { caller: auditName(context?.caller), requestId: context?.requestId }
  const letter = await db.transaction(async (tx) => {
    for (const side of sides) {
      const taken = await takeDeadLetter(tx, side, deadLetterId)
      if (taken === undefined) continue
      const { eventId } = taken
      if (decision.isDiscarded) {
        if (eventId !== null) await endEvent(tx, side, eventId)
      } else if (eventId === null) {
        throw invalid('dead_letter_id', 'is a message that is no event: it can only be discarded')
      } else if (side === 'outbox') {
        await republish(tx, eventId)
      }
      await insertDecision(tx, { ...who, ...decision }, taken)
      return taken
    }
    throw new Failure('DEAD_LETTER_NOT_FOUND', `no dead letter ${deadLetterId}`)
  })
  const facts = { eventId: letter.eventId ?? undefined, subject: letter.subject }
  log.info(facts, decision.isDiscarded ? 'dead letter discarded' : 'dead letter retried')
  if (letter.side === 'outbox' && !decision.isDiscarded) onDue?.()
}

function letterMessage(letter: StoredDeadLetter) {
  const { deadLetterId, side, eventId, subject, projectId, reason, consumers, sinceUs } = letter
  return {
    deadLetterId,
    side: side === 'outbox' ? DeadLetterSide.OUTBOX : DeadLetterSide.INBOX,
    eventId: eventId ?? '',
    subject,
    projectId: projectId ?? '',
    reason,
    consumers,
    sinceTime: timestampFromMicros(sinceUs),
  }
}

function decisionMessage(decision: StoredDecision) {
  const { decisionId, decidedUs, caller, requestId, isDiscarded, note } = decision
  return {
    decisionId,
    decideTime: timestampFromMicros(decidedUs),
    caller,
    requestId: requestId ?? '',
    deadLetter: letterMessage(decision),
    discarded: isDiscarded,
    note,
  }
}
