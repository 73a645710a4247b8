// Step 2 of the edge: reads and parses request bodies.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import type { BodyLimits, GatewayOptions } from '../../options.ts'
import { type ClientErrorOptions, incompleteRefuser } from '../client-error-handler.ts'
import { lateRequest, publicFailure, refusal } from '../envelope.ts'
import { headerCheck } from '../headers.ts'
import { wasRefused } from '../in-flight.ts'
import type { JsonBody, RouteRow } from '../route.ts'
import { requestTimeoutMs } from '../server.ts'
import { isJsonType } from './media-type.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    row?: RouteRow
  }
}

/** Registers the parsers. A body of another type is read up to the limit too, because its size is refused before its type. */
export function parseBodies(
  app: FastifyInstance,
  options: GatewayOptions,
  clientErrors: ClientErrorOptions,
): void {
  const readBody = readerOf(options, clientErrors)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, raw, done) => {
    readBody(request, raw, (failed, bytes) => {
      try {
        if (failed !== null) throw failed
        const { 'content-type': type, 'content-encoding': encoding } = request.headers
        request.edge.body = readJson(bytes ?? Buffer.alloc(0), type, encoding)
        done(null, undefined)
      } catch (error) {
        done(publicFailure(error), undefined)
      }
    })
  })
  app.addContentTypeParser('*', (request, raw, done) => {
    readBody(request, raw, (failed) => {
      done(failed === null ? refusal('UNSUPPORTED_MEDIA_TYPE') : publicFailure(failed), undefined)
    })
  })
}

/** Makes the reader of bodies. It runs steps 3 (headers) and 4 (subscription key) early for a body that arrives slowly. */
function readerOf(
  { settings, services: { access } }: GatewayOptions,
  clientErrors: ClientErrorOptions,
) {
  const limits = settings.bodyLimits ?? bodyLimits
  const checkHeaders = headerCheck(settings.requestDateToleranceS)
  const keyOf = ({ headers, routeOptions }: FastifyRequest): string | undefined => {
    try {
      return checkHeaders(headers, routeOptions.config.row ?? {}).subscriptionKey
    } catch {
      return undefined
    }
  }
  return bodyReader({
    limits: {
      ...limits,
      unauthenticatedMs: Math.min(
        limits.unauthenticatedMs,
        settings.requestTimeoutMs ?? requestTimeoutMs,
      ),
    },
    isAuthenticated(request) {
      const key = keyOf(request)
      return access.acceptedProject(key) !== undefined
    },
    async authenticate(request) {
      const key = keyOf(request)
      if (key === undefined) return false
      try {
        await access.openProject(key)
        return true
      } catch {
        return false
      }
    },
    refuse: incompleteRefuser(clientErrors),
  })
}

/** The limits of a process. */
export const bodyLimits: BodyLimits = {
  bytes: 64 * 1024,
  unauthenticatedBytes: 8 * 1024 * 1024,
  unauthenticatedMs: 5_000,
}

/** Memory of a request beside its body. */
const overheadBytes = 16 * 1024

type BodyReaderOptions = {
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
function bodyReader(options: BodyReaderOptions) {
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

const maxDepth = 32
const openingBrace = 0x7b
const openingBracket = 0x5b
// An escape or a control character; a number with an exponent or with many digits. The pattern does not backtrack.
const needsSearch = /[\\\x7f-\x9f]|[:,[\s]-?(?:[\d.]+[eE]|\d{17})/

/** Reads a JSON object. Throws UNSUPPORTED_MEDIA_TYPE or INVALID_JSON. */
export function readJson(
  raw: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
): JsonBody {
  if (contentType !== 'application/json' && !isJsonType(contentType ?? '')) {
    throw refusal('UNSUPPORTED_MEDIA_TYPE')
  }
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    throw refusal('UNSUPPORTED_MEDIA_TYPE')
  }
  if (!isUtf8(raw)) throw new Failure('INVALID_JSON', 'The body is not UTF-8.')
  const text = raw.toString('utf8')
  const fields = parse(text)
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new Failure('INVALID_JSON', 'The body must be a JSON object.')
  }
  // Only a text with many brackets can be nested deeply, so most bodies are not traversed.
  if (countOpenings(text) > maxDepth && !isShallow(fields, maxDepth)) {
    throw new Failure('INVALID_JSON', `The body is nested more than ${maxDepth} levels deep.`)
  }
  const isPlain = !needsSearch.test(text)
  return { fields: fields as Record<string, unknown>, isPlain, bytes: raw.length }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Failure('INVALID_JSON', 'The body is not valid JSON.')
  }
}

function countOpenings(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === openingBrace || code === openingBracket) count += 1
  }
  return count
}

function isShallow(value: object, levels: number): boolean {
  if (levels === 0) return false
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key]
    if (typeof child === 'object' && child !== null && !isShallow(child, levels - 1)) return false
  }
  return true
}
