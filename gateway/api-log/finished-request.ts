// A request that has ended, as the edge gives it to the API log.
import type { Reason } from '#core/errors/errors.ts'

/** What the log is made from; nothing in it is masked yet. */
export type FinishedRequest = {
  /** Method and path of the route: "POST /quote". */
  route: string
  projectId: string
  merchantId: string | undefined
  requestId: string
  status: number
  /** Error code of the response. */
  reason: Reason | undefined
  /** What the refusal is about, where it names a field. */
  field: string | undefined
  durationMs: number
  /** The client left before the response was sent. */
  clientLeft: boolean
  idempotencyKey: string | undefined
  query: unknown
  /** The fields of the JSON or of the form, where they could be read. */
  body: unknown
  /** Bytes of what is kept of the request: its target, and its body as far as it was read. */
  requestBytes: number
  response: string | undefined
}
