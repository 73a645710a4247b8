// The messages of a call stream, and their gRPC envelopes: a byte of flags, a length in four bytes, the message.

import type { DescField } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { contentTypeUnaryProto } from '@connectrpc/connect/protocol-connect'
import {
  CallService,
  type StreamCallsRequest,
  StreamCallsRequestSchema,
  StreamCallsResponseSchema,
} from '#gen/payweave/rpc/v1/call_pb.js'

/** Path of the method over HTTP/2. */
export const callStreamPath = `/${CallService.typeName}/${CallService.method.streamCalls.name}`
/** The header with the milliseconds that the caller waits. */
export const timeoutHeader = 'connect-timeout-ms'
/** The header with the id of the request that a call belongs to. */
export const requestIdHeader = 'pw-request-id'
/** Maximum bytes of a request message in a call stream; larger ones take HTTP, since they would delay the others. */
export const maxStreamedBytes = 64 * 1024
/** Maximum bytes beside the message or body: headers, the same as Node.js allows for an HTTP request. */
export const maxHeadBytes = 16 * 1024

const prefixBytes = 5
const nothing = new Uint8Array(0)

/** Headers by name in lower case. */
type HeaderRecord = Record<string, string>

const { field: call } = StreamCallsRequestSchema
const { field: answer } = StreamCallsResponseSchema

/**
 * Messages that wait to be written together. They are written field by field, with one writer for all: `toBinary` makes
 * a writer for each message, which takes four times as long and copies the body twice.
 */
export class MessageQueue {
  readonly #writer = new BinaryWriter()
  #waiting: { head: Uint8Array; body: Uint8Array }[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Adds a call as over HTTP with these headers; false, without adding it, when they have over `maxHeadBytes`. */
  addCall(id: number, path: string, headers: HeaderRecord, body: Uint8Array): boolean {
    this.#number(call.callId, id)
    this.#text(call.path, path)
    for (const name in headers) {
      const text = headers[name] ?? ''
      if (name === 'authorization') this.#text(call.authorization, text)
      else if (name === timeoutHeader) this.#number(call.timeoutMs, Number(text))
      else if (name === requestIdHeader) this.#text(call.requestId, text)
      else if (name === 'traceparent') this.#text(call.traceparent, text)
      else if (!impliedHeaders.has(name)) this.#pair(call.headers, name, text)
    }
    return this.#end(call.message, body)
  }

  /** Adds the cancellation of a call. */
  addCancel(id: number): void {
    this.#number(call.callId, id)
    this.#number(call.cancel, 1)
    this.#end(call.message, nothing)
  }

  /** Adds the response to a call; false, without adding it, when its headers have over `maxHeadBytes`. */
  addResponse(id: number, status: number, headers: HeaderRecord, body: Uint8Array): boolean {
    this.#number(answer.callId, id)
    if (!isPlain(status, headers)) {
      this.#number(answer.status, status)
      for (const name in headers) this.#pair(answer.headers, name, headers[name] ?? '')
    }
    return this.#end(answer.body, body)
  }

  /** Adds the notice that a call was not begun. */
  addNotBegun(id: number): void {
    this.#number(answer.callId, id)
    this.#number(answer.notBegun, 1)
    this.#end(answer.body, nothing)
  }

  /** Adds the notice that the server stops. */
  addDraining(): void {
    this.#number(answer.draining, 1)
    this.#end(answer.body, nothing)
  }

  /** All messages that were added since the last call, in their envelopes. */
  take(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#bytes)
    let at = 0
    for (const { head, body } of this.#waiting) {
      at = bytes.writeUInt8(0, at)
      at = bytes.writeUInt32BE(head.byteLength + body.byteLength, at)
      bytes.set(head, at)
      at += head.byteLength
      bytes.set(body, at)
      at += body.byteLength
    }
    this.#waiting = []
    this.#bytes = 0
    return bytes
  }

  #number({ number }: DescField, value: number): void {
    this.#writer.tag(number, WireType.Varint).uint32(value)
  }

  #text({ number }: DescField, value: string): void {
    this.#writer.tag(number, WireType.LengthDelimited).string(value)
  }

  /** Writes an entry of a map. */
  #pair({ number }: DescField, name: string, value: string): void {
    this.#writer.tag(number, WireType.LengthDelimited).fork()
    this.#writer.tag(1, WireType.LengthDelimited).string(name)
    this.#writer.tag(2, WireType.LengthDelimited).string(value).join()
  }

  #end({ number }: DescField, body: Uint8Array): boolean {
    this.#writer.tag(number, WireType.LengthDelimited).uint32(body.byteLength)
    const head = this.#writer.finish()
    if (head.byteLength > maxHeadBytes) return false
    this.#waiting.push({ head, body })
    this.#bytes += prefixBytes + head.byteLength + body.byteLength
    return true
  }
}

/** Headers of HTTP and of its content: each call of a stream is Connect's, in binary form. */
const impliedHeaders = new Set(['content-type', 'connect-protocol-version'])

/** Whether a response has status 200 and no header but its content type. */
function isPlain(status: number, headers: HeaderRecord): boolean {
  if (status !== 200) return false
  for (const name in headers) if (name !== 'content-type') return false
  return true
}

// oxlint-disable-next-line no-control-regex
const control = /[\x00-\x1f\x7f-\x9f]/
const maxTextLength = 128

/**
 * Whether a request follows the rules of its contract for certain, as those of our own clients do. Protovalidate decides
 * about all others: its 4 µs are a tenth of a small read.
 */
export function surelyFollowsRules(request: StreamCallsRequest): boolean {
  const { path, authorization, requestId, traceparent, headers, message } = request
  for (const _ in headers) return false
  return (
    message.byteLength <= maxStreamedBytes &&
    authorization.length <= maxHeadBytes &&
    Math.max(path.length, requestId.length, traceparent.length) <= maxTextLength &&
    !control.test(`${path}${authorization}${requestId}${traceparent}`)
  )
}

/** The headers that the call would have over HTTP. */
export function headersOf(request: StreamCallsRequest): HeaderRecord {
  const { headers, authorization, timeoutMs, requestId, traceparent } = request
  headers['content-type'] = contentTypeUnaryProto
  if (authorization !== '') headers['authorization'] = authorization
  if (timeoutMs > 0) headers[timeoutHeader] = String(timeoutMs)
  else delete headers[timeoutHeader]
  if (requestId !== '') headers[requestIdHeader] = requestId
  if (traceparent !== '') headers['traceparent'] = traceparent
  return headers
}

/** Cuts the bytes of a stream into its messages, each of at most `maxBytes`. */
export class MessageReader {
  readonly #maxBytes: number
  readonly #take: (message: Buffer) => void
  readonly #prefix = Buffer.alloc(prefixBytes)
  /** The message that is incomplete; undefined while its prefix is. */
  #message: Buffer | undefined
  /** Bytes that have arrived of the prefix or the message. */
  #have = 0

  /** What `take` throws leaves `read`. */
  constructor(maxBytes: number, take: (message: Buffer) => void) {
    this.#maxBytes = maxBytes
    this.#take = take
  }

  /** True while a message is incomplete. */
  get isWithin(): boolean {
    return this.#have > 0 || this.#message !== undefined
  }

  /** Passes on the messages that are complete now. Throws a RangeError for a message that is compressed or too long. */
  read(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      at = this.isWithin ? this.#readPart(chunk, at) : this.#readWhole(chunk, at)
    }
  }

  /** Reads a message that is complete in this chunk, as most are, without copying it. */
  #readWhole(chunk: Buffer, at: number): number {
    const start = at + prefixBytes
    if (start > chunk.length) return this.#readPart(chunk, at)
    const end = start + this.#lengthAt(chunk, at)
    if (end > chunk.length) return this.#readPart(chunk, at)
    this.#take(chunk.subarray(start, end))
    return end
  }

  #readPart(chunk: Buffer, at: number): number {
    const part = this.#message ?? this.#prefix
    const copied = chunk.copy(part, this.#have, at)
    this.#have += copied
    if (this.#have < part.length) return at + copied
    this.#have = 0
    if (this.#message === undefined) {
      this.#message = Buffer.allocUnsafeSlow(this.#lengthAt(part, 0))
      if (this.#message.length > 0) return at + copied
    }
    // Cleared first, because the taker may read the next message.
    const message = this.#message
    this.#message = undefined
    this.#take(message)
    return at + copied
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at + 1)
    if (bytes[at] !== 0) throw new RangeError('a message is compressed')
    if (length > this.#maxBytes) throw new RangeError(`a message is over ${this.#maxBytes} bytes`)
    return length
  }
}
