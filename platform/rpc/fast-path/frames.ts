// Encodes and decodes the frames by which many calls share one connection.
//
// A frame is a length (four bytes, of all that follows), a kind (one byte), the number of its call (four bytes), the
// length of its head (two bytes), its head (text) and its body. Numbers are unsigned, the highest byte first.

/**
 * Sent first by a client, and sent back by a server that speaks frames. Any other server refuses it, since it is not
 * HTTP.
 */
export const preface = Buffer.from('LINK * PAYWEAVE/1\r\n\r\n')

/** The kinds of frames. */
export const frameKind = {
  /** From the client. Head: `[path, headers]` as JSON. Body: the message. */
  call: 1,
  /** From the client: cancels the call. */
  cancel: 2,
  /**
   * From the server. Head: empty when all went well, or `[status, headers]` as JSON. Body: that of the HTTP response.
   */
  answer: 3,
  /** From the server, which did not begin the call: it has to be made over HTTP. */
  refused: 4,
  /** From the server, which drains: calls in flight are answered, new ones need another connection. */
  goaway: 5,
} as const

/** The parts of a frame that come before its body. */
export interface FrameHead {
  kind: number
  call: number
  head: string
  bodyBytes: number
}

/** Receives the body of a complete frame; what it throws leaves `FrameReader.read`. */
export type TakeBody = (body: Buffer) => void

/**
 * Decides by the head of a frame whether its body is kept: without a taker it is dropped as it arrives. What it throws
 * leaves `FrameReader.read`.
 */
export type OpenFrame = (frame: FrameHead) => TakeBody | undefined

const nothing = new Uint8Array(0)
const noBytes = Buffer.alloc(0)
const lengthBytes = 4
const fixedBytes = 7

/** Maximum bytes of a head, the same as Node.js allows for the headers of a request. */
export const maxHeadBytes = 16 * 1024

/** Frames that wait to be written together. */
export class FrameQueue {
  #waiting: { kind: number; call: number; head: string; headBytes: number; body: Uint8Array }[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Adds a frame; false, without adding it, when its head has more than `maxHeadBytes`. */
  add(kind: number, call: number, head = '', body: Uint8Array = nothing): boolean {
    const headBytes = Buffer.byteLength(head)
    if (headBytes > maxHeadBytes) return false
    this.#waiting.push({ kind, call, head, headBytes, body })
    this.#bytes += lengthBytes + fixedBytes + headBytes + body.byteLength
    return true
  }

  /** The bytes of all frames that were added since the last call. */
  take(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#bytes)
    let at = 0
    for (const { kind, call, head, headBytes, body } of this.#waiting) {
      at = bytes.writeUInt32BE(fixedBytes + headBytes + body.byteLength, at)
      at = bytes.writeUInt8(kind, at)
      at = bytes.writeUInt32BE(call, at)
      at = bytes.writeUInt16BE(headBytes, at)
      at += bytes.write(head, at)
      bytes.set(body, at)
      at += body.byteLength
    }
    this.#waiting = []
    this.#bytes = 0
    return bytes
  }
}

/** Cuts the bytes of a connection into frames of at most `maxBytes` of head and body. */
export class FrameReader {
  readonly #maxLength: number
  readonly #open: OpenFrame
  #partial: PartialFrame | undefined

  constructor(maxBytes: number, open: OpenFrame) {
    this.#maxLength = fixedBytes + maxBytes
    this.#open = open
  }

  /** True while a frame is incomplete. */
  get isWithin(): boolean {
    return this.#partial !== undefined
  }

  /** Bytes held of the head of an incomplete frame. The taker of the body counts those of the body. */
  get headBytes(): number {
    return this.#partial?.headBytes ?? 0
  }

  /**
   * Passes on the frames that are complete now. Throws a RangeError for bytes that cannot be a frame, after which the
   * connection cannot be read any more, and what `OpenFrame` or `TakeBody` throws.
   */
  read(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      at = this.#partial === undefined ? this.#readWhole(chunk, at) : this.#readPart(chunk, at)
    }
  }

  /** Reads a frame that is complete in this chunk, as most are, without copying it. */
  #readWhole(chunk: Buffer, at: number): number {
    const left = chunk.length - at
    const length = left < lengthBytes ? 0 : lengthBytes + this.#lengthAt(chunk, at)
    if (left < lengthBytes || left < length) {
      this.#partial = new PartialFrame(this.#open, (bytes) => this.#lengthAt(bytes, 0))
      return this.#readPart(chunk, at)
    }
    const end = at + length
    const headAt = at + lengthBytes + fixedBytes
    const bodyAt = headAt + headBytesAt(chunk, at, length)
    const take = this.#open(frameHeadOf(chunk, at, chunk.subarray(headAt, bodyAt), end - bodyAt))
    take?.(chunk.subarray(bodyAt, end))
    return end
  }

  #readPart(chunk: Buffer, at: number): number {
    const partial = this.#partial
    if (partial === undefined) return at
    const taken = partial.add(chunk.subarray(at))
    if (partial.isWhole) {
      // Cleared first, because the taker may read the next frame.
      this.#partial = undefined
      partial.handOn()
    }
    return at + taken
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at)
    if (length < fixedBytes || length > this.#maxLength) throw new RangeError('no frame')
    return length
  }
}

/** A frame that comes in pieces: its fixed part, its head and its body, one after the other. */
class PartialFrame {
  readonly #open: OpenFrame
  readonly #lengthOf: (fixed: Buffer) => number
  readonly #fixed = Buffer.alloc(lengthBytes + fixedBytes)
  #head: Buffer | undefined
  #isOpened = false
  #take: TakeBody | undefined
  /** The body so far; stays empty when the body is dropped. */
  #body = noBytes
  #bodyBytes = 0
  /** Bytes that have arrived of the part that is being read. */
  #have = 0

  constructor(open: OpenFrame, lengthOf: (fixed: Buffer) => number) {
    this.#open = open
    this.#lengthOf = lengthOf
  }

  get headBytes(): number {
    return this.#isOpened ? 0 : (this.#head?.length ?? 0)
  }

  get isWhole(): boolean {
    return this.#isOpened && this.#have === this.#bodyBytes
  }

  handOn(): void {
    this.#take?.(this.#body)
  }

  /** Takes bytes up to the end of the frame and returns how many. */
  add(chunk: Buffer): number {
    let at = 0
    if (this.#head === undefined) {
      at += this.#fill(this.#fixed, chunk)
      if (this.#have < this.#fixed.length) return at
      const length = lengthBytes + this.#lengthOf(this.#fixed)
      const headBytes = headBytesAt(this.#fixed, 0, length)
      this.#head = Buffer.allocUnsafe(headBytes)
      this.#bodyBytes = length - this.#fixed.length - headBytes
      this.#have = 0
    }
    if (!this.#isOpened) {
      at += this.#fill(this.#head, chunk.subarray(at))
      if (this.#have < this.#head.length) return at
      this.#take = this.#open(frameHeadOf(this.#fixed, 0, this.#head, this.#bodyBytes))
      this.#isOpened = true
      this.#have = 0
      if (this.#take !== undefined) this.#body = Buffer.allocUnsafe(this.#bodyBytes)
    }
    if (this.#take !== undefined) return at + this.#fill(this.#body, chunk.subarray(at))
    const dropped = Math.min(this.#bodyBytes - this.#have, chunk.length - at)
    this.#have += dropped
    return at + dropped
  }

  /** Copies what the part still needs. */
  #fill(part: Buffer, chunk: Buffer): number {
    const copied = chunk.copy(part, this.#have)
    this.#have += copied
    return copied
  }
}

/** The length of the head of the frame that begins at `at`, `length` being that of the frame. */
function headBytesAt(bytes: Buffer, at: number, length: number): number {
  const headBytes = bytes.readUInt16BE(at + lengthBytes + 5)
  const isTooLong = headBytes > maxHeadBytes || lengthBytes + fixedBytes + headBytes > length
  if (isTooLong) throw new RangeError('no frame')
  return headBytes
}

function frameHeadOf(bytes: Buffer, at: number, head: Buffer, bodyBytes: number): FrameHead {
  return {
    kind: bytes.readUInt8(at + lengthBytes),
    call: bytes.readUInt32BE(at + lengthBytes + 1),
    head: head.length === 0 ? '' : head.toString('utf8'),
    bodyBytes,
  }
}
