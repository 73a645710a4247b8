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
  /** All incomplete bodies together whose headers or subscription key are not known to be accepted. */
  unprovenBytes: number
  /** How long such a body may take. */
  unprovenMs: number
}

/** The limits of a process. */
export const bodyLimits: BodyLimits = {
  bytes: 64 * 1024,
  unprovenBytes: 8 * 1024 * 1024,
  unprovenMs: 5_000,
}

/** Memory of a request beside its body. */
const overheadBytes = 16 * 1024

export type BodyReaderOptions = {
  limits: BodyLimits
  /** Whether headers and key of a request are known to be accepted. Makes no call. */
  isProven(request: FastifyRequest): boolean
  /** The same, looking the key up when it is not cached. */
  prove(request: FastifyRequest): Promise<boolean>
  /** Refuses a request before all of its body has arrived, and closes its connection. Checks `isWanted` right before. */
  refuse(request: FastifyRequest, failure: Failure, isWanted: () => boolean): void
}

type Done = (error: Error | null, body?: Buffer) => void

/** A body that is being read. */
type Reading = {
  request: FastifyRequest
  chunks: Buffer[]
  bytes: number
  /** Its part of `unprovenBytes`. */
  charged: number
  timer: NodeJS.Timeout | undefined
  refused: Failure | undefined
  isJudged: boolean
  isOver: boolean
}

/** The state of a reader. `unjudged` are the bodies of this turn of the event loop. */
type Room = { options: BodyReaderOptions; unjudged: Reading[]; unprovenBytes: number }

/**
 * Makes the reader. It calls `done` with the bytes, with PAYLOAD_TOO_LARGE, or with the error of the connection. Most bodies
 * arrive together with their headers; only the others are judged by them, so the order of the checks stays the same.
 */
export function bodyReader(options: BodyReaderOptions) {
  const room: Room = { options, unjudged: [], unprovenBytes: 0 }
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
      release(room, reading)
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
      else if (reading.charged > 0) charge(room, reading, chunk.length)
      else if (reading.bytes !== length) judge(room, reading)
    })
    raw.on('end', () => {
      // The client already got 408: the gateway must not execute the request after that.
      if (wasRefused(raw)) finish(lateRequest())
      else finish(null, Buffer.concat(reading.chunks, reading.bytes))
    })
    raw.on('error', (error) => finish(error))
    if (room.unjudged.length === 0) setImmediate(() => judgeAll(room))
    room.unjudged.push(reading)
  }
}

/** Judges bodies of which no byte has arrived with the headers. */
function judgeAll(room: Room): void {
  const { unjudged } = room
  room.unjudged = []
  for (const reading of unjudged) if (!reading.isOver) judge(room, reading)
}

/** Limits an incomplete body unless its headers and key are known to be accepted. */
function judge(room: Room, reading: Reading): void {
  if (reading.isJudged) return
  reading.isJudged = true
  const { isProven, limits } = room.options
  if (isProven(reading.request)) return
  reading.timer = setTimeout(() => void judgeLate(room, reading), limits.unprovenMs).unref()
  charge(room, reading, overheadBytes + reading.bytes)
}

async function judgeLate(room: Room, reading: Reading): Promise<void> {
  if (await room.options.prove(reading.request)) release(room, reading)
  else refuse(room, reading, lateRequest())
}

function charge(room: Room, reading: Reading, bytes: number): void {
  room.unprovenBytes += bytes
  reading.charged += bytes
  if (room.unprovenBytes > room.options.limits.unprovenBytes) {
    refuse(room, reading, refusal('SERVICE_UNAVAILABLE'))
  }
}

function release(room: Room, reading: Reading): void {
  clearTimeout(reading.timer)
  room.unprovenBytes -= reading.charged
  reading.charged = 0
}

function refuse(room: Room, reading: Reading, failure: Failure): void {
  if (reading.isOver || reading.refused !== undefined) return
  reading.refused = failure
  for (const chunk of reading.chunks) free(chunk)
  reading.chunks = []
  release(room, reading)
  room.options.refuse(reading.request, failure, () => !reading.isOver)
}

function newReading(request: FastifyRequest): Reading {
  const nothing = { timer: undefined, refused: undefined, isJudged: false, isOver: false }
  return { request, chunks: [], bytes: 0, charged: 0, ...nothing }
}

/** Frees the memory of a chunk at once: the garbage collector waits until there are 64 MiB of them. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
