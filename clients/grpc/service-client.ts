// The types of a service's client, derived from its descriptor.
import type {
  DescMessage,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import type { RetryPolicy } from './retry.ts'

/** How one call differs from the others of its client. */
export interface CallOptions {
  /** Milliseconds for the whole call with its retries; sent as `grpc-timeout`. */
  timeoutMs?: number
  /** Cancels the call, at the service too. */
  signal?: AbortSignal
  /** UUID in the logs and events of every service; a new one when not given. The same for all attempts. */
  requestId?: string
  /** W3C trace context of the caller. */
  traceparent?: string
  /** `false`: one attempt. */
  retry?: Partial<RetryPolicy> | false
  /** Further headers. */
  metadata?: Record<string, string>
}

/** What a caller streams. */
export type Requests<I extends DescMessage> =
  | AsyncIterable<MessageInitShape<I>>
  | Iterable<MessageInitShape<I>>

/**
 * One function for each method; a stream of answers begins when it is first read. Calls reject with a PayweaveError,
 * also within a stream, and with an error of the caller's own request stream as it is.
 */
export type ServiceClient<S extends DescService> = {
  readonly [Name in keyof S['method']]: S['method'][Name] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : S['method'][Name] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
      : S['method'][Name] extends DescMethodClientStreaming<infer I, infer O>
        ? (requests: Requests<I>, options?: CallOptions) => Promise<MessageShape<O>>
        : never
}
