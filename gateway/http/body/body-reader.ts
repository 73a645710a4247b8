// Reads whole request bodies within limits: bodies of unknown clients that arrive slowly get less time and memory.
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Failure } from '#core/errors/errors.ts'
import { lateRequest, refusal } from '../envelope.ts'
import { wasRefused } from '../in-flight.ts'

/** Limits of request bodies. */
export type BodyLimits = {
  /** One body. */
  bytes: number
  /** All incomplete bodies together whose client is not authenticated: bad headers, or a subscription key that is not in the cache. */
  unauthenticatedBytes: number
  /** How long such a body may take. */
  unauthenticatedMs: number
}

/** The limits of a process. */
export const bodyLimits: BodyLimits = {
  bytes: 64 * 1024,
  unauthenticatedBytes: 8 * 1024 * 1024,
  unauthenticatedMs: 5_000,
}

/** Memory of a request beside its body. */
const overheadBytes = 16 * 1024

export type BodyReaderOptions = {
  limits: BodyLimits
  /** Whether the headers are valid and the cache has the subscription key as accepted. Makes no call. */
  isAuthenticated(request: FastifyRequest): boolean
  /** The same, but looks up a key that is not cached. */
  authenticate(request: FastifyRequest): Promise<boolean>
  /** Refuses a request before all of its body has arrived, and closes its connection. Checks `isWanted` right before. */
  refuse(request: FastifyRequest, failure: Failure, isWanted: () => boolean): void
}

type Done = (error: Error | null, body?: Buffer) => void

/** A body that is being read. */
type Reading = {
  request: FastifyRequest
  chunks: Buffer[]
  bytes: number
  /** Bytes that it counts against `unauthenticatedBytes`. */
  charged: number
  timer: NodeJS.Timeout | undefined
  refused: Failure | undefined
  isChecked: boolean
  isOver: boolean
}

/** The state of a reader. `unchecked` are the bodies that began in this turn of the event loop. */
type State = { options: BodyReaderOptions; unchecked: Reading[]; unauthenticatedBytes: number }

/**
 * Makes the reader. It calls `done` with the bytes, with PAYLOAD_TOO_LARGE, or with the error of the connection. Most bodies
 * arrive together with their headers, and are not limited here. An incomplete body is limited until its client is
 * authenticated; errors of headers and key are still reported by their own steps, so the order of the checks does not change.
 */
export function bodyReader(options: BodyReaderOptions) {
  const state: State = { options, unchecked: [], unauthenticatedBytes: 0 }
  const maxBytes = options.limits.bytes
  return (request: FastifyRequest, raw: IncomingMessage, done: Done): void => {
    const length = Number(request.headers['content-length'])
    if (length > maxBytes) {
      done(refusal('PAYLOAD_TOO_LARGE'))
      return
    }
    const reading = newReading(request)
    const finish: Done = (error, body) => {
      if (reading.isOver) return
      reading.isOver = true
      reading.chunks = []
      release(state, reading)
      done(reading.refused ?? error, body)
    }
    raw.on('data', (chunk: Buffer) => {
      if (reading.isOver || reading.refused !== undefined) {
        free(chunk)
        return
      }
      reading.bytes += chunk.length
      reading.chunks.push(chunk)
      if (reading.bytes > maxBytes) finish(refusal('PAYLOAD_TOO_LARGE'))
      else if (reading.charged > 0) charge(state, reading, chunk.length)
      else if (reading.bytes !== length) limit(state, reading)
    })
    raw.on('end', () => {
      // The client already got 408: the gateway must not execute the request after that.
      if (wasRefused(raw)) finish(lateRequest())
      else finish(null, Buffer.concat(reading.chunks, reading.bytes))
    })
    raw.on('error', (error) => finish(error))
    if (state.unchecked.length === 0) setImmediate(() => limitAll(state))
    state.unchecked.push(reading)
  }
}

/** Limits the bodies of the last turn of which no byte has arrived with the headers. */
function limitAll(state: State): void {
  const { unchecked } = state
  state.unchecked = []
  for (const reading of unchecked) if (!reading.isOver) limit(state, reading)
}

/** Limits an incomplete body in time and memory, unless its client is known to be authenticated. */
function limit(state: State, reading: Reading): void {
  if (reading.isChecked) return
  reading.isChecked = true
  const { isAuthenticated, limits } = state.options
  if (isAuthenticated(reading.request)) return
  reading.timer = setTimeout(
    () => void authenticateLate(state, reading),
    limits.unauthenticatedMs,
  ).unref()
  charge(state, reading, overheadBytes + reading.bytes)
}

async function authenticateLate(state: State, reading: Reading): Promise<void> {
  if (await state.options.authenticate(reading.request)) release(state, reading)
  else refuse(state, reading, lateRequest())
}

function charge(state: State, reading: Reading, bytes: number): void {
  state.unauthenticatedBytes += bytes
  reading.charged += bytes
  if (state.unauthenticatedBytes > state.options.limits.unauthenticatedBytes) {
    refuse(state, reading, refusal('SERVICE_UNAVAILABLE'))
  }
}

function release(state: State, reading: Reading): void {
  clearTimeout(reading.timer)
  state.unauthenticatedBytes -= reading.charged
  reading.charged = 0
}

function refuse(state: State, reading: Reading, failure: Failure): void {
  if (reading.isOver || reading.refused !== undefined) return
  reading.refused = failure
  for (const chunk of reading.chunks) free(chunk)
  reading.chunks = []
  release(state, reading)
  state.options.refuse(reading.request, failure, () => !reading.isOver)
}

function newReading(request: FastifyRequest): Reading {
  const nothing = { timer: undefined, refused: undefined, isChecked: false, isOver: false }
  return { request, chunks: [], bytes: 0, charged: 0, ...nothing }
}

/** Frees the memory of a chunk at once: the garbage collector waits until there are 64 MiB of them. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
