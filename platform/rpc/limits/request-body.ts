// Reads the messages of a request within the size limits of its call, and passes each on when it is complete.

import { isUtf8 } from 'node:buffer'
import { Failure } from '#core/errors/errors.ts'
import { callerGone, malformed } from '../errors.ts'
import { type Lease, largeMessageBytes, messageTooLarge, tooManyBytes } from './limits.ts'

/** How the messages of one request are read. */
export interface ReadLimits {
  lease: Lease
  /** Maximum bytes of a message. */
  maxBytes: number
  /** Messages are JSON. */
  isJson: boolean
  /** When a single message has to be there, in milliseconds since the epoch. */
  untilMs?: number | undefined
  /** Maps an error of reading to the one that the reader of the body is to see. */
  toError(thrown: unknown): unknown
}

const minBlockBytes = 4 * 1024
const maxBlockBytes = 64 * 1024
/** A piece of at least this size that owns its memory is kept without a copy. */
const minOwnBlockBytes = 16 * 1024
const prefixBytes = 5
const endStreamFlag = 2
/** Bytes that streams and HTTP may buffer of a body that arrives faster than its handler reads it. */
const streamBytes = 128 * 1024

/** Throws SERVER_OVERLOADED unless the call may hold this many bytes. */
function hold(lease: Lease, bytes: number): void {
  if (!lease.resize(bytes)) throw tooManyBytes()
}

/**
 * Collects the pieces of one message until it is whole. Most are copied into blocks: a piece may be a view that keeps a
 * much larger buffer alive, and many small buffers take more memory than their bytes.
 */
export class BodyBlocks {
  readonly #limits: Pick<ReadLimits, 'lease' | 'maxBytes'>
  readonly #declaredBytes: number | undefined
  readonly #blocks: Uint8Array[] = []
  /** The last of the blocks that pieces are copied into, and how much of it is used. */
  #open: Buffer | undefined
  #usedBytes = 0
  #bytes = 0

  /** The caller's lease already holds a declared length; without one the lease grows with the message. */
  constructor(limits: Pick<ReadLimits, 'lease' | 'maxBytes'>, declaredBytes?: number) {
    this.#limits = limits
    this.#declaredBytes = declaredBytes
  }

  get isWhole(): boolean {
    return this.#bytes === this.#declaredBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Takes bytes up to the end of the message and returns how many. Throws SERVER_OVERLOADED when there is no room for
   * them, and MESSAGE_TOO_LARGE for a message of undeclared length over `maxBytes`.
   */
  add(piece: Uint8Array): number {
    const { maxBytes } = this.#limits
    const room = (this.#declaredBytes ?? maxBytes) - this.#bytes
    if (this.#declaredBytes === undefined && piece.byteLength > room)
      throw messageTooLarge(maxBytes)
    const part = piece.byteLength > room ? piece.subarray(0, room) : piece
    this.#bytes += part.byteLength
    if (this.#declaredBytes === undefined) this.#holdUndeclared()
    const isAlone = part.byteLength === part.buffer.byteLength
    if (isAlone && part.byteLength >= minOwnBlockBytes) {
      this.#close()
      this.#blocks.push(part)
    } else this.#copy(part)
    return part.byteLength
  }

  /** A message that has grown large reserves the maximum at once, so that the next ones are refused early. */
  #holdUndeclared(): void {
    const { lease, maxBytes } = this.#limits
    hold(lease, this.#bytes > largeMessageBytes ? maxBytes : this.#bytes)
  }

  #copy(part: Uint8Array): void {
    for (let at = 0; at < part.byteLength; ) {
      const block = this.#openBlock(part.byteLength - at)
      const copied = part.subarray(at, at + block.length - this.#usedBytes)
      block.set(copied, this.#usedBytes)
      this.#usedBytes += copied.byteLength
      at += copied.byteLength
    }
  }

  /** A block with room. Blocks double up to the maximum, so that at most half of a block is unused. */
  #openBlock(wantedBytes: number): Buffer {
    if (this.#open !== undefined && this.#usedBytes < this.#open.length) return this.#open
    const wantedSize = Math.max(minBlockBytes, wantedBytes, 2 * (this.#open?.length ?? 0))
    const left = (this.#declaredBytes ?? this.#limits.maxBytes) - this.#bytes + wantedBytes
    this.#close()
    this.#open = Buffer.allocUnsafeSlow(Math.min(wantedSize, maxBlockBytes, left))
    return this.#open
  }

  #close(): void {
    if (this.#open !== undefined) this.#blocks.push(this.#open.subarray(0, this.#usedBytes))
    this.#open = undefined
    this.#usedBytes = 0
  }

  /** The whole message, in as few pieces as there are. */
  pieces(): Uint8Array[] {
    this.#close()
    return this.#blocks
  }
}

/** Throws MALFORMED_REQUEST for JSON that is not UTF-8: a decoder would silently replace its bytes by U+FFFD. */
function checked(pieces: Uint8Array[], isJson: boolean): Uint8Array[] {
  if (!isJson) return pieces
  const [only] = pieces
  const whole = only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces)
  if (!isUtf8(whole)) throw malformed('the message is not UTF-8')
  return [whole]
}

/** The pieces of a body as they come. */
class Pieces {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #late = Promise.withResolvers<never>()
  readonly #timer: NodeJS.Timeout | undefined

  constructor(body: AsyncIterable<Uint8Array>, untilMs: number | undefined) {
    this.#source = body[Symbol.asyncIterator]()
    if (untilMs === undefined) return
    this.#late.promise.catch(() => undefined)
    this.#timer = setTimeout(() => {
      this.#late.reject(new Failure('TIMEOUT', 'the request did not arrive in time'))
    }, untilMs - Date.now())
  }

  /** The next piece; undefined at the end. A body that breaks off counts as a disconnected caller. */
  async next(): Promise<Uint8Array | undefined> {
    const step = await Promise.race([this.#source.next().catch(wentAway), this.#late.promise])
    return step.done === true ? undefined : step.value
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

function wentAway(cause: unknown): never {
  throw callerGone(cause)
}

/**
 * The body of a unary call of Connect's protocol, passed on when it is complete; the rest of a refused body stays
 * unread. Throws `toError` of a Failure: MALFORMED_REQUEST for another length than declared or JSON that is not UTF-8,
 * MESSAGE_TOO_LARGE, SERVER_OVERLOADED, TIMEOUT after `untilMs`, CANCELLED for a body that breaks off.
 */
export async function* wholeBody(
  body: AsyncIterable<Uint8Array>,
  limits: ReadLimits,
  declaredBytes: number | undefined,
): AsyncGenerator<Uint8Array> {
  const pieces = new Pieces(body, limits.untilMs)
  try {
    if (declaredBytes !== undefined) hold(limits.lease, declaredBytes)
    const first = await pieces.next()
    if (first !== undefined && first.byteLength === declaredBytes) {
      yield* checked([first], limits.isJson)
      return
    }
    const gathering = new BodyBlocks(limits, declaredBytes)
    for (let piece = first; piece !== undefined; piece = await pieces.next()) {
      if (gathering.add(piece) < piece.byteLength) throw malformed('the body is too long')
    }
    if (declaredBytes !== undefined && !gathering.isWhole) throw malformed('the body is too short')
    yield* checked(gathering.pieces(), limits.isJson)
  } catch (error) {
    throw limits.toError(error)
  } finally {
    pieces.end()
  }
}

/**
 * The messages of a gRPC or streaming Connect call with their envelopes, each passed on when it is complete. A message
 * counts against the lease until the next one is asked for, and a single message to the end of the call. Throws as
 * `wholeBody`.
 */
export async function* wholeMessages(
  body: AsyncIterable<Uint8Array>,
  limits: ReadLimits,
  isSingle: boolean,
): AsyncGenerator<Uint8Array> {
  const { lease, isJson } = limits
  const besideBytes = isSingle ? 0 : streamBytes
  const pieces = new Pieces(body, isSingle ? limits.untilMs : undefined)
  const envelopes = new Envelopes(limits, isSingle, besideBytes)
  try {
    hold(lease, besideBytes)
    for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
      let rest = piece
      while (rest.byteLength > 0) {
        rest = rest.subarray(envelopes.add(rest))
        const whole = envelopes.take()
        if (whole === undefined) continue
        yield whole.prefix
        yield* checked(whole.message, isJson)
        if (!isSingle) hold(lease, besideBytes)
      }
    }
    envelopes.end()
  } catch (error) {
    throw limits.toError(error)
  } finally {
    pieces.end()
  }
}

/** Cuts pieces of a body into envelopes: a prefix with flags and a length, and a message. */
class Envelopes {
  readonly #limits: ReadLimits
  readonly #isSingle: boolean
  readonly #besideBytes: number
  #prefix = Buffer.alloc(0)
  #messageBytes = 0
  /** Collects a message that does not arrive in one piece. */
  #gathering: BodyBlocks | undefined
  #whole: Uint8Array[] | undefined
  #messages = 0

  constructor(limits: ReadLimits, isSingle: boolean, besideBytes: number) {
    this.#limits = limits
    this.#isSingle = isSingle
    this.#besideBytes = besideBytes
  }

  /** Takes bytes up to the end of the envelope and returns how many. */
  add(piece: Uint8Array): number {
    const missing = Math.min(prefixBytes - this.#prefix.length, piece.byteLength)
    if (missing > 0) this.#prefix = Buffer.concat([this.#prefix, piece.subarray(0, missing)])
    if (this.#prefix.length < prefixBytes) return missing
    if (missing > 0) this.#begin()
    return missing + this.#addMessage(piece.subarray(missing))
  }

  #begin(): void {
    const { lease, maxBytes } = this.#limits
    const isMessage = (this.#prefix.readUInt8() & endStreamFlag) === 0
    if (isMessage) this.#messages += 1
    if (this.#isSingle && this.#messages > 1) throw malformed('the method takes one message')
    this.#messageBytes = this.#prefix.readUInt32BE(1)
    if (this.#messageBytes > maxBytes) throw messageTooLarge(maxBytes)
    hold(lease, this.#besideBytes + this.#messageBytes)
  }

  #addMessage(piece: Uint8Array): number {
    if (this.#gathering === undefined && piece.byteLength >= this.#messageBytes) {
      this.#whole = [piece.subarray(0, this.#messageBytes)]
      return this.#messageBytes
    }
    this.#gathering ??= new BodyBlocks(this.#limits, this.#messageBytes)
    const taken = this.#gathering.add(piece)
    if (this.#gathering.isWhole) this.#whole = this.#gathering.pieces()
    return taken
  }

  /** The envelope, once it is complete. */
  take(): { prefix: Uint8Array; message: Uint8Array[] } | undefined {
    if (this.#whole === undefined) return undefined
    const envelope = { prefix: this.#prefix, message: this.#whole }
    this.#prefix = Buffer.alloc(0)
    this.#gathering = undefined
    this.#whole = undefined
    return envelope
  }

  /** Throws MALFORMED_REQUEST unless the body may end here. */
  end(): void {
    if (this.#prefix.length > 0) throw malformed('the last message is incomplete')
    if (this.#isSingle && this.#messages === 0) throw malformed('the method takes one message')
  }
}
