// Encodes an event of the outbox for the broker. Must equal the library's encoding of events.v1.Event; a test compares
// the two.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { EventSchema } from '#gen/events/v1/events_pb.js'
import type { ClaimedEvent } from './outbox-store.ts'

const { eventId, subject, occurredTime, projectId, payload, traceparent, requestId } =
  EventSchema.field
const secondsField = 1
const nanosField = 2

/**
 * Kept from one message to the next with its memory. A new writer begins with 128 bytes and doubles them four times for an
 * event, which costs more than encoding the fields does.
 */
let spare: BinaryWriter | undefined

/**
 * Encodes an event as `events.v1.Event`, with the trace that its receiver continues. Throws a RangeError for an invalid
 * date.
 */
export function eventBytes(event: ClaimedEvent, trace: string): Uint8Array {
  const writer = spare ?? new BinaryWriter()
  // Taken out while in use: a writer that an error leaves half-filled is not used again.
  spare = undefined
  text(writer, eventId.number, event.event_id)
  text(writer, subject.number, event.subject)
  writer.tag(occurredTime.number, WireType.LengthDelimited).fork()
  time(writer, event.occurred_at)
  writer.join()
  text(writer, projectId.number, event.project_id ?? '')
  if (event.payload.length > 0) {
    writer.tag(payload.number, WireType.LengthDelimited).bytes(event.payload)
  }
  text(writer, traceparent.number, trace)
  text(writer, requestId.number, event.request_id ?? '')
  const bytes = writer.finish()
  spare = writer
  return bytes
}

function text(writer: BinaryWriter, field: number, value: string): void {
  if (value !== '') writer.tag(field, WireType.LengthDelimited).string(value)
}

/** The fields of a google.protobuf.Timestamp. */
function time(writer: BinaryWriter, at: Date): void {
  const ms = at.getTime()
  const seconds = Math.floor(ms / 1_000)
  const nanos = (ms - seconds * 1_000) * 1_000_000
  if (seconds !== 0) writer.tag(secondsField, WireType.Varint).int64(BigInt(seconds))
  if (nanos !== 0) writer.tag(nanosField, WireType.Varint).int32(nanos)
}
