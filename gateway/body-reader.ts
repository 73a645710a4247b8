// Reads bodies of JSON whole. A body whose headers would be refused gets little time and room, however slowly it comes.
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Failure } from '#core/errors.ts'
import { lateRequest, refusal } from './envelope.ts'
import { wasRefused } from './in-flight.ts'

/** What bodies may take. */
export type BodyLimits = {
  /** One body. */
  bytes: number
  /** All bodies together that are incomplete and of which no known project is the sender. */
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

/** What a request takes beside its body. */
const overheadBytes = 16 * 1024

export type BodyReaderOptions = {
  limits: BodyLimits
  /** Whether headers and key of a request are known to be accepted, without asking anybody. */
  isProven(request: FastifyRequest): boolean
  /** The same, asking who has to be asked. */
  prove(request: FastifyRequest): Promise<boolean>
  /** Answers a request that has not come in whole, and ends its connection. `isWanted` is asked before it does. */
  refuse(request: FastifyRequest, failure: Failure, isWanted: () => boolean): void
}

type Done = (error: Error | null, body?: Buffer) => void

/** A body that is coming in. */
type Reading = {
  request: FastifyRequest
  chunks: Buffer[]
  bytes: number
  /** What it takes of the room for unproven ones. */
  charged: number
  timer: NodeJS.Timeout | undefined
  refused: Failure | undefined
  isJudged: boolean
  isOver: boolean
}

/** The bodies of which nothing has come yet, and what unproven ones take. */
type Room = { options: BodyReaderOptions; unjudged: Reading[]; unprovenBytes: number }

/**
 * Makes the reader. It calls `done` with the bytes, PAYLOAD_TOO_LARGE, or what broke the connection off. Most bodies come in
 * one piece with their headers: only one that does not is judged by them, so that the order of the checks stays.
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
      // Its client was answered that it came too late: it must not be carried out now.
      if (wasRefused(raw)) finish(lateRequest())
      else finish(null, Buffer.concat(reading.chunks, reading.bytes))
    })
    raw.on('error', (error) => finish(error))
    if (room.unjudged.length === 0) setImmediate(() => judgeAll(room))
    room.unjudged.push(reading)
  }
}

/** Judges those of which nothing has come yet. */
function judgeAll(room: Room): void {
  const { unjudged } = room
  room.unjudged = []
  for (const reading of unjudged) if (!reading.isOver) judge(room, reading)
}

/** Sets limits to a body that has not come in with its headers and is not known to pass the checks of them. */
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

/** Gives the memory of a chunk back now: the collector of garbage lets 64 MiB of them gather before it looks. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
