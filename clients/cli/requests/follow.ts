// Reads the lines of a file that grows, also when it is truncated or replaced.
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export type FollowOptions = {
  /** Whether to wait for more. */
  follow: boolean
  signal: AbortSignal
}

const pauseMs = 150
/** Maximum that is read of what the file holds at the beginning. */
const earlierBytes = 4 * 1_048_576
const chunkBytes = 65_536

/**
 * Yields the lines of a file that grows, is truncated or is replaced; it need not exist yet. Yields undefined once,
 * after the lines that were there at the beginning. Reads at most the last 4 MiB of those. Throws the system's error
 * when the file cannot be read.
 */
export async function* followLines(
  file: string,
  { follow, signal }: FollowOptions,
): AsyncGenerator<string | undefined> {
  let position = { inode: 0, offset: Math.max(0, sizeOf(file) - earlierBytes) }
  let isFirst = true
  let rest = ''
  while (!signal.aborted) {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat !== undefined) {
      const isOther = position.inode !== 0 && stat.ino !== position.inode
      if (isOther || stat.size < position.offset) {
        position = { inode: stat.ino, offset: 0 }
        rest = ''
      }
      const text = readFrom(file, position.offset, stat.size)
      position = { inode: stat.ino, offset: position.offset + Buffer.byteLength(text) }
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
    if (isFirst) yield undefined
    isFirst = false
    if (!follow) return
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Yields the lines of a stream, such as standard input. Throws the stream's error. */
export async function* streamLines(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  let rest = ''
  for await (const part of stream) {
    const lines = `${rest}${String(part)}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Reads whole lines only, so that no character is cut in two. */
function readFrom(file: string, start: number, end: number): string {
  if (end <= start) return ''
  const chunks: Buffer[] = []
  const handle = fs.openSync(file, 'r')
  try {
    for (let at = start; at < end; ) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, end - at))
      const bytes = fs.readSync(handle, chunk, 0, chunk.length, at)
      if (bytes === 0) break
      chunks.push(chunk.subarray(0, bytes))
      at += bytes
    }
  } finally {
    fs.closeSync(handle)
  }
  const whole = Buffer.concat(chunks)
  return whole.subarray(0, whole.lastIndexOf('\n') + 1).toString()
}
