// Consumes events: stores their pushes, and posts those directly whose lanes have free slots.
import type { Event } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import { deliveriesOf } from '../operations/event-intake.ts'
import { storeEvents } from '../store/intake-store.ts'
import type { DeliveryWorker } from './worker.ts'

/** Stores those of the events that are new, with their pushes; resolves to their ids. */
export type TakeIn = (events: Event[]) => Promise<Set<string>>

/**
 * Makes the intake of one worker. For an event that can never be read it throws an UnprocessableEvent before it stores anything.
 * It rejects as a Database does.
 */
export function createIntake(db: Database, worker: Pick<DeliveryWorker, 'reserve'>): TakeIn {
  return async (events) => {
    const pushes = events.flatMap((event) => deliveriesOf(event))
    const { begin, abandon, ...reserved } = await worker.reserve(pushes)
    const eventIds = events.map(({ eventId }) => eventId)
    try {
      const stored = await storeEvents(db, { eventIds, pushes, ...reserved })
      begin(stored.startedAt)
      return stored.newEvents
    } catch (error) {
      abandon()
      throw error
    }
  }
}
