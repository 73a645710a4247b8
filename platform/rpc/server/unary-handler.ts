// Answers a unary call in Connect's binary form straight on node's request and response.
//
// It handles the common case only. A call without a content length, with another encoding or a malformed time-out is
// left to Connect, which answers or refuses it. The bytes on the wire are the same.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Code, type ContextValues } from '@connectrpc/connect'
import { contentTypeUnaryProto } from '@connectrpc/connect/protocol-connect'
import { type Lease, maxMessageBytes, tooManyBytes } from '../limits/limits.ts'
import { BodyBlocks } from '../limits/request-body.ts'
import type { BodyDropper } from '../limits/unread.ts'
import type { UnaryMethods } from './handlers.ts'
import type { CallLog, ServedCall } from './served-call.ts'
import {
  type AnswerHeaders,
  answerUnary,
  type CallHead,
  isTimeout,
  refuseUnary,
  UnaryContext,
} from './unary-answer.ts'

/** Answers a call that was admitted; false, untouched, when Connect has to. Never throws. */
export type TakeUnary = (
  request: IncomingMessage,
  response: ServerResponse,
  call: ServedCall,
  values: () => ContextValues,
) => boolean

const nothing = new Uint8Array(0)
const maxJoinedBytes = 16 * 1024

/** Makes the handler of the registered methods. */
export function unaryHandler(methods: UnaryMethods, log: CallLog, dropper: BodyDropper): TakeUnary {
  return (request, response, call, values) => {
    const unary = methods.get(request.url ?? '')
    const { lease } = call
    if (unary === undefined || lease === undefined || !isPlain(request)) return false
    const timeoutMs = Number(request.headers['connect-timeout-ms'])
    const context = new UnaryContext(unary.method, new HttpHead(request), values, timeoutMs)
    const answering = { call, context, log, maxBytes: maxMessageBytes }
    let isAnswering = false
    const go = (body: Uint8Array): void => {
      if (isAnswering) return
      isAnswering = true
      void answerUnary(unary, body, answering, (...answer) => write(response, ...answer))
    }
    // So that a call whose body is still arriving ends at its deadline too.
    context.onAbort = () => go(nothing)
    response.once('close', () => {
      if (!response.writableFinished) context.abort('the caller went away', Code.Canceled)
      // The handler of a cancelled call still uses its message, so its bytes count until it ends.
      context.work.then(lease.release, lease.release)
    })
    const bytes = Number(request.headers['content-length'])
    if (lease.resize(bytes)) readBody(request, bytes, lease, go)
    else {
      isAnswering = true
      dropper.drop(request, call)
      refuseUnary(tooManyBytes(), answering, (...answer) => write(response, ...answer))
    }
    return true
  }
}

function isPlain({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    headers['content-type'] === contentTypeUnaryProto &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers['content-length'] !== undefined &&
    isTimeout(headers['connect-timeout-ms'])
  )
}

/** Passes on a complete body only: when a body breaks off, the end of its connection aborts the call. */
function readBody(
  request: IncomingMessage,
  bytes: number,
  lease: Lease,
  done: (body: Uint8Array) => void,
): void {
  let whole: Uint8Array = nothing
  let gathering: BodyBlocks | undefined
  request.on('data', (chunk: Buffer) => {
    // Most bodies come in one piece, which needs no copy.
    if (chunk.length === bytes) whole = chunk
    else {
      gathering ??= new BodyBlocks({ lease, maxBytes: bytes }, bytes)
      gathering.add(chunk)
    }
  })
  request.once('end', () => {
    done(gathering === undefined ? whole : Buffer.concat(gathering.pieces()))
  })
  request.once('error', () => undefined)
}

function write(
  response: ServerResponse,
  status: number,
  headers: AnswerHeaders,
  body: Uint8Array,
): void {
  if (response.destroyed) return
  headers['content-length'] = String(body.byteLength)
  response.writeHead(status, headers)
  if (body.byteLength > maxJoinedBytes) response.end(body)
  else {
    // As latin1 text, each byte is one character, and Node.js joins body and head into one write.
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    response.end(bytes.toString('latin1'), 'latin1')
  }
}

/** The head of a request, parsed into objects on demand. */
class HttpHead implements CallHead {
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage) {
    this.#request = request
  }

  get url(): string {
    return `http://${this.#request.headers.host}${this.#request.url}`
  }

  get header(): Headers {
    const header = new Headers()
    for (const [name, value] of Object.entries(this.#request.headersDistinct)) {
      for (const item of value ?? []) header.append(name, item)
    }
    return header
  }
}
