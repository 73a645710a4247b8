// Reads what the gateway sends to the API log: requests with the lines of their batch.
import { zstdDecompressSync } from 'node:zlib'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  LoggedRequestSchema,
  RecordRequestsRequestSchema,
} from '#gen/payweave/delivery/v1/api_log_pb.js'

/** A request of the log with its content. */
export type Logged = MessageInitShape<typeof LoggedRequestSchema>

/** The requests of a call, each with its query and bodies. */
export function loggedRequests({
  requests = [],
  contents = [],
}: MessageInitShape<typeof RecordRequestsRequestSchema>): Logged[] {
  const lines = new Map(
    contents.map(({ projectId = '', compressedLines = new Uint8Array() }) => [
      projectId,
      zstdDecompressSync(compressedLines).toString().split('\n').values(),
    ]),
  )
  return requests.map((request): Logged => {
    const rest = lines.get(request.projectId ?? '')
    const next = (): string => rest?.next().value ?? ''
    return { ...request, query: next(), requestBody: next(), responseBody: next() }
  })
}
