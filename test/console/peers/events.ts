// The service of dead letters of events, as payments, accounts and delivery serve it.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  DeadLetterSide,
  type EventDeadLetterService,
} from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import { type Many, type Texts, time } from '../rows.ts'

/** One rejected event, and a message that is not an event. */
export function eventPeers(seen: (rpc: string) => void, texts: Texts, many: Many) {
  const events = {
    eventId: randomUUID(),
    /** An event about which people have decided. */
    decidedId: randomUUID(),
    deadLetterId: randomUUID(),
    /** Who made the decisions. */
    decidedBy: texts.person,
    /** Whether decisions about others are answered too, as by a replica of the previous release. */
    ignoresId: false,
  }
  const letter = {
    eventId: events.eventId,
    deadLetterId: events.deadLetterId,
    side: DeadLetterSide.INBOX,
    subject: texts.id,
    reason: texts.note,
    sinceTime: time,
  }
  const require = (deadLetterId: string) => {
    if (deadLetterId === events.deadLetterId) return
    throw new Failure('DEAD_LETTER_NOT_FOUND', 'no such dead letter')
  }
  const eventDeadLetters: Partial<ServiceImpl<typeof EventDeadLetterService>> = {
    listEventDeadLetters({ eventId, pageSize }) {
      if (eventId !== '') return { deadLetters: eventId === events.eventId ? [letter] : [] }
      return { deadLetters: many(letter, pageSize) }
    },
    retryEventDeadLetter({ deadLetterId }) {
      seen('RetryEventDeadLetter')
      require(deadLetterId)
      return {}
    },
    discardEventDeadLetter({ deadLetterId }) {
      seen('DiscardEventDeadLetter')
      require(deadLetterId)
      return {}
    },
    listEventDeadLetterDecisions({ eventId, pageSize }) {
      if (eventId !== '' && eventId !== events.decidedId && !events.ignoresId) return {}
      const decision = {
        caller: events.decidedBy,
        decideTime: time,
        note: texts.note,
        discarded: true,
      }
      const deadLetter = { ...letter, eventId: events.decidedId }
      return { decisions: many({ ...decision, deadLetter }, pageSize) }
    },
  }
  return { events, eventDeadLetters }
}
