// Sends the messages of calls through grpc-js, in the streaming forms that our contracts have.
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import type {
  Client,
  ClientReadableStream,
  ClientWritableStream,
  ServiceError,
} from '@grpc/grpc-js'
import { type Call, type CallDefaults, openCall } from './call.ts'
import type { CallOptions, Requests, ServiceClient } from './service-client.ts'

type Message = MessageShape<DescMessage>
type Init = MessageInitShape<DescMessage>

/**
 * Makes a client with one function for each method of the service. Calling a method that streams both ways throws a
 * TypeError: no contract of ours has one.
 */
export function createServiceClient<S extends DescService>(
  service: S,
  channel: () => Client,
  defaults: CallDefaults,
): ServiceClient<S> {
  const functions = service.methods.map((method) => [
    method.localName,
    functionOf(method, channel, defaults),
  ])
  return Object.fromEntries(functions) as ServiceClient<S>
}

function functionOf(method: DescMethod, channel: () => Client, defaults: CallDefaults): unknown {
  const open = (options: CallOptions = {}) => openCall(method, options, defaults)
  const forms = {
    unary: async (request: Init, options?: CallOptions) =>
      await unary(channel, method, create(method.input, request), open(options)),
    server_streaming: (request: Init, options?: CallOptions) =>
      serverStream(channel, method, create(method.input, request), () => open(options)),
    client_streaming: async (requests: Requests<DescMessage>, options?: CallOptions) =>
      await clientStream(channel, method, requests, open(options)),
    bidi_streaming: () => {
      throw new TypeError(`${method.name} streams both ways, which no contract of ours does`)
    },
  }
  return forms[method.methodKind]
}

function unary(
  channel: () => Client,
  method: DescMethod,
  request: Message,
  call: Call,
): Promise<Message> {
  const { encode, decode } = codec(method)
  return call.repeat(async () => {
    const metadata = await call.begin()
    return await start(call, (settle) =>
      channel().makeUnaryRequest(
        call.path,
        encode,
        decode,
        request,
        metadata,
        { deadline: call.deadline },
        settle,
      ),
    ).answer
  })
}

/** Retries only until the first answer: the reader has seen it, so the call cannot begin again. */
async function* serverStream(
  channel: () => Client,
  method: DescMethod,
  request: Message,
  open: () => Call,
): AsyncGenerator<Message, void> {
  const { encode, decode } = codec(method)
  const call = open()
  const { answers, first } = await call.repeat(async () => {
    const metadata = await call.begin()
    const stream = channel().makeServerStreamRequest(call.path, encode, decode, request, metadata, {
      deadline: call.deadline,
    })
    const answers = read(stream, call)
    return { answers, first: await answers.next() }
  })
  if (first.done === true) return
  try {
    yield first.value
    yield* answers
  } finally {
    // Called explicitly: a caller that stops after the first answer never starts the generator of the rest.
    await answers.return()
  }
}

async function clientStream(
  channel: () => Client,
  method: DescMethod,
  requests: Requests<DescMessage>,
  call: Call,
): Promise<Message> {
  const { encode, decode } = codec(method)
  const metadata = await call.begin()
  const { sent, answer } = start(call, (settle) =>
    channel().makeClientStreamRequest(
      call.path,
      encode,
      decode,
      metadata,
      { deadline: call.deadline },
      settle,
    ),
  )
  await write(sent, method.input, requests, answer)
  return await answer
}

function codec({ input, output }: DescMethod) {
  return {
    encode: (message: Message) => Buffer.from(toBinary(input, message)),
    decode: (bytes: Buffer) => fromBinary(output, bytes),
  }
}

type Settle = (error: ServiceError | null, answer?: Message) => void

/** Starts a call that has one answer. */
function start<S extends { cancel(): void }>(call: Call, send: (settle: Settle) => S) {
  let resolve!: (message: Message) => void
  let reject!: (error: unknown) => void
  const settled = new Promise<Message>((onAnswer, onError) => {
    resolve = onAnswer
    reject = onError
  })
  const sent = send((error, message) => {
    if (message === undefined) reject(error === null ? error : call.errorOf(error))
    else resolve(message)
  })
  const answer = settled.finally(onAbort(call.signal, () => sent.cancel()))
  // If the caller's own source fails, that error is thrown instead.
  answer.catch(() => undefined)
  return { sent, answer }
}

/** The answers of a stream. It is cancelled when the reader stops early. */
async function* read(
  stream: ClientReadableStream<Message>,
  call: Call,
): AsyncGenerator<Message, void> {
  const release = onAbort(call.signal, () => stream.cancel())
  try {
    for await (const answer of stream) yield answer as Message
  } catch (error) {
    throw isServiceError(error) ? call.errorOf(error) : error
  } finally {
    release()
    stream.cancel()
  }
}

/** Sends the caller's messages, waiting for each to be written (backpressure), until the service has answered. */
async function write(
  stream: ClientWritableStream<Message>,
  schema: DescMessage,
  requests: Requests<DescMessage>,
  answer: Promise<unknown>,
): Promise<void> {
  let isAnswered = false
  const ended = answer
    .catch(() => undefined)
    .finally(() => {
      isAnswered = true
    })
  try {
    for await (const request of requests) {
      if (isAnswered) return
      const taken = new Promise<void>((resolve) => {
        stream.write(create(schema, request), () => resolve())
      })
      await Promise.race([taken, ended])
    }
    stream.end()
  } catch (error) {
    // The caller's own source failed: cancelled, so that the service does not take the part for the whole.
    stream.cancel()
    throw error
  }
}

function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  signal?.addEventListener('abort', act, { once: true })
  return () => signal?.removeEventListener('abort', act)
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error
}
