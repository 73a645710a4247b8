// Sends requests as bytes over Connect, Connect's JSON and gRPC, and reads what a refusal says.
import {
  type DescMessage,
  type DescMethod,
  fromBinary,
  type Message,
  toJsonString,
} from '@bufbuild/protobuf'
import {
  type CallOptions,
  ChannelCredentials,
  Client,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import { Agent, request } from 'undici'
import { BadRequestSchema, ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '#gen/google/rpc/status_pb.js'

/** Result of a call. */
export type Outcome = {
  /** Lower snake case; "ok" for an answer. */
  code: string
  message: string
  /** Of ErrorInfo. */
  reason: string | undefined
  /** Of BadRequest. */
  fields: string[]
}

/** Where a method is served, and with which `authorization`, made for each call because it may expire. */
export type Target = { url: string; authorization: () => string }

const grpcCodes =
  'ok cancelled unknown invalid_argument deadline_exceeded not_found already_exists permission_denied resource_exhausted failed_precondition aborted out_of_range unimplemented internal unavailable data_loss unauthenticated'.split(
    ' ',
  )
const timeoutMs = 30_000

type Detail = { type: string; value: Uint8Array }

function outcomeOf(code: string, message: string, details: Detail[]): Outcome {
  const find = (type: DescMessage) => details.find((detail) => detail.type === type.typeName)?.value
  const info = find(ErrorInfoSchema)
  const bad = find(BadRequestSchema)
  return {
    code,
    message,
    reason: info && fromBinary(ErrorInfoSchema, info).reason,
    fields: bad ? fromBinary(BadRequestSchema, bad).fieldViolations.map(({ field }) => field) : [],
  }
}

/** Callers over every protocol; `close` ends their connections. */
export function callers() {
  const agent = new Agent({ connections: 8, pipelining: 1 })
  const clients = new Map<string, Client>()
  const clientOf = (url: string): Client => {
    const known = clients.get(url)
    if (known !== undefined) return known
    const client = new Client(new URL(url).host, ChannelCredentials.createInsecure())
    clients.set(url, client)
    return client
  }

  async function connect(method: DescMethod, target: Target, body: Uint8Array | string) {
    const { statusCode, body: answer } = await request(`${target.url}${pathOf(method)}`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        'content-type': typeof body === 'string' ? 'application/json' : 'application/proto',
        'connect-timeout-ms': String(timeoutMs),
        authorization: target.authorization(),
      },
      body,
    })
    if (statusCode === 200) {
      await answer.dump()
      return outcomeOf('ok', '', [])
    }
    const error = (await answer.json()) as {
      code: string
      message?: string
      details?: { type: string; value: string }[]
    }
    const details = (error.details ?? []).map(({ type, value }) => ({
      type,
      value: Buffer.from(value, 'base64'),
    }))
    return outcomeOf(error.code, error.message ?? '', details)
  }

  return {
    /** Connect with a binary message: the way of our own services. */
    binary: (method: DescMethod, target: Target, bytes: Uint8Array) =>
      connect(method, target, bytes),
    /** Connect with JSON; `text` is the message. */
    json: (method: DescMethod, target: Target, text: string) => connect(method, target, text),
    /** gRPC. A stream of requests is sent whole; of a stream of answers the first one counts. */
    grpc: (method: DescMethod, target: Target, parts: readonly Uint8Array[]) =>
      grpc(clientOf(target.url), method, target, parts),
    async close() {
      for (const client of clients.values()) client.close()
      await agent.close()
    },
  }
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`
}

/** A message in Connect's JSON; undefined for one that JSON cannot hold. */
export function jsonOf(schema: DescMessage, message: Message): string | undefined {
  try {
    return toJsonString(schema, message)
  } catch {
    return undefined
  }
}

const whole = (bytes: Uint8Array): Buffer => Buffer.from(bytes)

function grpc(
  client: Client,
  method: DescMethod,
  { authorization }: Target,
  parts: readonly Uint8Array[],
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const path = pathOf(method)
  const metadata = new Metadata()
  metadata.set('authorization', authorization())
  const options: CallOptions = { deadline: Date.now() + timeoutMs }
  const [first = new Uint8Array()] = parts
  const end = (error: ServiceError | null) =>
    resolve(error === null ? outcomeOf('ok', '', []) : refusalOf(error))
  if (method.methodKind === 'unary') {
    client.makeUnaryRequest(path, whole, whole, whole(first), metadata, options, end)
  } else if (method.methodKind === 'client_streaming') {
    const stream = client.makeClientStreamRequest(path, whole, whole, metadata, options, end)
    for (const part of parts) stream.write(part)
    stream.end()
  } else {
    const stream = client.makeServerStreamRequest(
      path,
      whole,
      whole,
      whole(first),
      metadata,
      options,
    )
    stream.once('data', () => {
      end(null)
      stream.cancel()
    })
    stream.once('error', end)
    stream.once('end', () => end(null))
  }
  return promise
}

function refusalOf(error: ServiceError): Outcome {
  const [bytes] = error.metadata.get('grpc-status-details-bin')
  const details = bytes instanceof Buffer ? fromBinary(StatusSchema, bytes).details : []
  return outcomeOf(
    grpcCodes[error.code] ?? 'unknown',
    error.details,
    details.map(({ typeUrl, value }) => ({ type: typeUrl.replace(/^.*\//, ''), value })),
  )
}
