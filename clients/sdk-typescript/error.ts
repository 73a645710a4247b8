// The errors of the SDK: what the API refused and what to do about it, and a wait that ended without the wanted state.
import { remedies } from './remedies.ts'

/** An error code of the API; see docs/integrate/errors.md. */
export type ErrorCode = keyof typeof remedies

/**
 * Why a call failed: the `errorCode` of the API, `NO_RESPONSE` when no response came, or `HTTP_<status>` for a response
 * without a code, as errors of `/quote` are. A newer API may send codes that this version does not know.
 */
export type Reason = ErrorCode | 'NO_RESPONSE' | `HTTP_${number}` | (string & {})

/** What a PayweaveError is made from. */
export type ErrorFacts = {
  status: number
  reason: Reason
  message: string
  requestId: string
  field?: string | undefined
  missing?: readonly string[] | undefined
  docUrl?: string | undefined
  retryAfterS?: number | undefined
  cause?: unknown
}

/** A call that the API refused, or that got no response. It holds no key and nothing of the request. */
export class PayweaveError extends Error {
  override readonly name = 'PayweaveError'
  /** HTTP status; 0 when no response came. */
  readonly status: number
  readonly reason: Reason
  /** Id of the request. Quote it when you contact support. */
  readonly requestId: string
  /** The first invalid field, query parameter or header. */
  readonly field: string | undefined
  /** Query parameters that are missing. */
  readonly missing: readonly string[]
  /** Address of the page that explains the reason. */
  readonly docUrl: string | undefined
  /** Seconds after which the API asks for the same request again. */
  readonly retryAfterS: number | undefined

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.status = facts.status
    this.reason = facts.reason
    this.requestId = facts.requestId
    this.field = facts.field
    this.missing = facts.missing ?? []
    this.docUrl = facts.docUrl
    this.retryAfterS = facts.retryAfterS
  }

  /** What to do about it, in a sentence. */
  get howToFix(): string {
    const { reason } = this
    if (Object.hasOwn(remedies, reason)) return remedies[reason as ErrorCode]
    return reason === 'NO_RESPONSE'
      ? 'Check the address and the network, then send the same request again, with the same ids.'
      : 'Read the message.'
  }
}

/** A wait that ended without the wanted state: the time is over, or the state can no longer be reached. */
export class WaitError extends Error {
  override readonly name = 'WaitError'
}
