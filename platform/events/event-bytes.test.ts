// The bytes that are published decode to the message of the contract for every content of an event.
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { EventSchema } from '#gen/events/v1/events_pb.js'
import { eventBytes } from './event-bytes.ts'
import type { ClaimedEvent } from './outbox-store.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 80 })
const events: fc.Arbitrary<ClaimedEvent> = fc.record({
  event_id: fc.uuid(),
  subject: text,
  project_id: fc.option(text),
  payload: fc.uint8Array({ maxLength: 5_000 }),
  occurred_at: fc.date({ min: new Date(-1e12), max: new Date(4e12), noInvalidDate: true }),
  traceparent: fc.option(text),
  request_id: fc.option(text),
  attempts: fc.nat(),
})

function asLibrary(event: ClaimedEvent, trace: string): Uint8Array {
  return toBinary(
    EventSchema,
    create(EventSchema, {
      eventId: event.event_id,
      subject: event.subject,
      occurredTime: timestampFromDate(event.occurred_at),
      projectId: event.project_id ?? '',
      payload: event.payload,
      traceparent: trace,
      requestId: event.request_id ?? '',
    }),
  )
}

it('an event is the bytes that the library makes of it', () => {
  fc.assert(
    fc.property(events, text, (event, trace) => {
      expect(eventBytes(event, trace)).toEqual(asLibrary(event, trace))
    }),
  )
})

it('an event that cannot be written leaves nothing of itself in the next one', () => {
  const [event] = fc.sample(events, { numRuns: 1, seed: 1 })
  if (event === undefined) throw new Error('there is no sample')
  expect(() => eventBytes({ ...event, occurred_at: new Date(Number.NaN) }, '')).toThrow(RangeError)
  expect(eventBytes(event, '')).toEqual(asLibrary(event, ''))
})
