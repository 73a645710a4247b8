// Converts protobuf timestamps to and from the microseconds that PostgreSQL keeps; a Date would cut them to
// milliseconds.

import { create } from '@bufbuild/protobuf'
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt'

const microsPerSecond = 1_000_000n
const nanosPerMicro = 1_000

/** Microseconds since 1970; nanoseconds below one microsecond are cut off. */
export function microsOfTimestamp({ seconds, nanos }: Timestamp): bigint {
  return seconds * microsPerSecond + BigInt(Math.floor(nanos / nanosPerMicro))
}

/** The timestamp of an instant in microseconds since 1970. */
export function timestampFromMicros(micros: bigint): Timestamp {
  // Division of bigints rounds towards zero, but `nanos` counts forward from the second below, also before 1970.
  const rest = ((micros % microsPerSecond) + microsPerSecond) % microsPerSecond
  const seconds = (micros - rest) / microsPerSecond
  return create(TimestampSchema, { seconds, nanos: Number(rest) * nanosPerMicro })
}
