// The frames that many calls share one connection in, as bytes; it must not know what a call is for.
//
// A frame is a length (four bytes, of all that follows), a kind (one byte), the number of its call (four bytes), the length of
// its head (two bytes), its head (text) and its body. Numbers are unsigned, the highest byte first.

/** What a client sends first, and a server that speaks frames sends back. To any other it is no HTTP, which it refuses. */
export const preface = Buffer.from('LINK * PAYWEAVE/1\r\n\r\n')

/** What a frame is. */
export const frameKind = {
  /** From the client. Head: `[path, headers]` as JSON. Body: the message. */
  call: 1,
  /** From the client, who waits no longer. */
  cancel: 2,
  /** From the server. Head: empty when all went well, or `[status, headers]` as JSON. Body: that of the HTTP response. */
  answer: 3,
  /** From the server, which did not begin the call: it has to be made over HTTP. */
  elsewhere: 4,
  /** From the server, which stops: calls under way are answered, new ones have to go elsewhere. */
  goodbye: 5,
} as const

/** A frame that was read. */
export interface Frame {
  kind: number
  call: number
  head: string
  body: Buffer
}

const nothing = new Uint8Array(0)
const lengthBytes = 4
const fixedBytes = 7
/** Pieces of a frame that are kept as they came: one of a byte takes up hundreds. */
const mostPieces = 256

/** Longest head; as node has it for the headers of a request. */
export const maxHeadBytes = 16 * 1024

/** Frames that wait to be written together. */
export class FrameQueue {
  #waiting: { kind: number; call: number; head: string; headBytes: number; body: Uint8Array }[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Adds a frame; false, without it, when its head is too long. */
  add(kind: number, call: number, head = '', body: Uint8Array = nothing): boolean {
    const headBytes = Buffer.byteLength(head)
    if (headBytes > maxHeadBytes) return false
    this.#waiting.push({ kind, call, head, headBytes, body })
    this.#bytes += lengthBytes + fixedBytes + headBytes + body.byteLength
    return true
  }

  /** All that was added since the last time. */
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

/** Cuts what comes over a connection into frames of at most `maxBytes` of head and body. */
export class FrameReader {
  readonly #maxLength: number
  readonly #take: (frame: Frame) => void
  #chunks: Buffer[] = []
  #have = 0
  #need = lengthBytes

  constructor(maxBytes: number, take: (frame: Frame) => void) {
    this.#maxLength = fixedBytes + maxBytes
    this.#take = take
  }

  /** True while a frame has come in part. */
  get isWithin(): boolean {
    return this.#have > 0
  }

  /** Hands on the frames that are whole now. Throws a RangeError for what cannot be a frame. */
  read(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#have += chunk.length
    if (this.#have < this.#need) {
      if (this.#chunks.length >= mostPieces) this.#chunks = [Buffer.concat(this.#chunks)]
      return
    }
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    let at = 0
    for (;;) {
      const left = bytes.length - at
      this.#need = left < lengthBytes ? lengthBytes : lengthBytes + this.#lengthAt(bytes, at)
      if (left < this.#need) break
      this.#take(frameAt(bytes, at, this.#need))
      at += this.#need
    }
    this.#have = bytes.length - at
    this.#chunks = this.#have === 0 ? [] : [bytes.subarray(at)]
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at)
    if (length < fixedBytes || length > this.#maxLength) throw new RangeError('no frame')
    return length
  }
}

function frameAt(bytes: Buffer, at: number, length: number): Frame {
  const headAt = at + lengthBytes + fixedBytes
  const bodyAt = headAt + bytes.readUInt16BE(at + lengthBytes + 5)
  const end = at + length
  if (bodyAt > end) throw new RangeError('no frame')
  return {
    kind: bytes.readUInt8(at + lengthBytes),
    call: bytes.readUInt32BE(at + lengthBytes + 1),
    head: bodyAt === headAt ? '' : bytes.toString('utf8', headAt, bodyAt),
    body: bytes.subarray(bodyAt, end),
  }
}
