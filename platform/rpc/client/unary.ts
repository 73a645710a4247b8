// Makes one unary call in Connect's binary form straight on undici.
//
// Every request of the API makes such a call. Connect's own client makes streams, signals and header objects that cost
// time and have no use here; the bytes on the wire are the same.

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type UnaryResponse } from '@connectrpc/connect'
import {
  contentTypeUnaryProto,
  errorFromJsonBytes,
  headerProtocolVersion,
  protocolVersion,
  trailerDemux,
  validateResponseWithCompression,
} from '@connectrpc/connect/protocol-connect'
import type { Dispatcher } from 'undici'
import {
  type Answer,
  type AnswerHeaders,
  type ExchangeLimits,
  exchange,
  exchangeReadOnly,
  timeoutHeader,
} from './exchange.ts'
import type { HedgingDispatcher } from './hedging.ts'

/** One call, ready to be sent. */
export interface UnaryCall<I extends DescMessage, O extends DescMessage> extends ExchangeLimits {
  method: DescMethodUnary<I, O>
  message: MessageInitShape<I>
  /** Names in lower case. */
  header: Record<string, string>
  /** Given for a call that changes nothing and so may be sent to a second replica. */
  hedging?: HedgingDispatcher | undefined
}

const versionHeader = headerProtocolVersion.toLowerCase()

/**
 * Sends a call below `basePath` and reads its response. Rejects with a ConnectError: the callee's, those of `exchange`,
 * ResourceExhausted for a request over `maxBytes`, Internal for a message that cannot be encoded or decoded.
 */
export async function callUnary<I extends DescMessage, O extends DescMessage>(
  dispatcher: Dispatcher,
  basePath: string,
  call: UnaryCall<I, O>,
): Promise<UnaryResponse<I, O>> {
  const { method, header, timeoutMs, maxBytes } = call
  const body = serialized(method.input, call.message)
  if (body.byteLength > maxBytes) {
    throw new ConnectError(`message is over ${maxBytes} bytes`, Code.ResourceExhausted)
  }
  header['content-type'] = contentTypeUnaryProto
  header[versionHeader] = protocolVersion
  if (timeoutMs > 0) header[timeoutHeader] = String(timeoutMs)
  const path = `${basePath}/${method.parent.typeName}/${method.name}`
  const request = { path, method: 'POST' as const, headers: header, body }
  const answer = await (call.hedging === undefined
    ? exchange(dispatcher, request, call)
    : exchangeReadOnly(call.hedging, request, call))
  return new Answered(method, read(method, answer), answer.headers)
}

/** What a call gives back; a class, since each call makes one and few read the headers. */
class Answered<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false
  readonly method: DescMethodUnary<I, O>
  readonly message: MessageShape<O>
  readonly #headers: AnswerHeaders

  constructor(method: DescMethodUnary<I, O>, message: MessageShape<O>, headers: AnswerHeaders) {
    this.method = method
    this.message = message
    this.#headers = headers
  }

  get service() {
    return this.method.parent
  }

  get header(): Headers {
    return trailerDemux(webHeaders(this.#headers))[0]
  }

  get trailer(): Headers {
    return trailerDemux(webHeaders(this.#headers))[1]
  }
}

/** Converts undici's headers. */
export function webHeaders(headers: AnswerHeaders): Headers {
  const result = new Headers()
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') result.set(name, value)
    else for (const item of value ?? []) result.append(name, item)
  }
  return result
}

function serialized<D extends DescMessage>(type: D, message: MessageInitShape<D>): Uint8Array {
  try {
    return toBinary(type, isMessage(message, type) ? message : create(type, message))
  } catch (error) {
    throw ConnectError.from(error, Code.Internal)
  }
}

function read<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  { status, headers, body }: Answer,
): MessageShape<O> {
  const isPlain =
    headers['content-type'] === contentTypeUnaryProto && headers['content-encoding'] === undefined
  if (status !== 200 || !isPlain) {
    const header = webHeaders(headers)
    const checked = validateResponseWithCompression(method.methodKind, [], true, status, header)
    if (checked.isUnaryError) throw errorFromJsonBytes(body, header, checked.unaryError)
  }
  try {
    return fromBinary(method.output, body)
  } catch (error) {
    throw ConnectError.from(error, Code.Internal)
  }
}
