// Drains, within bounds, the bodies of requests that were answered before they were read.

import type { IncomingMessage } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { ServedCall } from '../server/served-call.ts'

/** Time before the connection is cut: a caller that still sends would lose the response if it were cut at once. */
const lingerMs = 2_000
/**
 * Maximum that is dropped of an authenticated caller's body: some clients read nothing before they have sent
 * everything.
 */
const maxDroppedBytes = 16 * 1024 * 1024
const maxDroppedOfOthersBytes = 64 * 1024
/** Maximum of long bodies being dropped at once: dropped bytes take memory until they are collected. */
const maxLongDrops = 4

/** Drops the bodies of requests over HTTP/1.1. */
export interface BodyDropper {
  /**
   * Drops the rest of the body of a call: all of an authenticated caller's, unless there was no room for it or others
   * are being dropped. After that the connection is not read any more, and cut in the end. Call it before the answer is
   * written: it also keeps Node.js from reading on without a limit.
   */
  drop(request: IncomingMessage, call: ServedCall): void
}

/** Makes the dropper of a server. */
export function createBodyDropper(): BodyDropper {
  let longDrops = 0
  return {
    drop(request, { caller, lease }) {
      if (request.complete || request.destroyed) return
      const isWelcome = caller !== undefined && lease?.wasRefused !== true
      const isLong = isWelcome && longDrops < maxLongDrops
      if (isLong) longDrops += 1
      const { socket } = request
      const cut = setTimeout(() => socket.destroy(), lingerMs).unref()
      const over = () => {
        clearTimeout(cut)
        // The connection goes on to other requests.
        socket.off('close', over)
      }
      socket.once('close', over)
      // A reader that stopped half-way would keep the stream paused.
      request.removeAllListeners('readable')
      dropBody(request, isLong ? maxDroppedBytes : maxDroppedOfOthersBytes)
        .then(over, () => undefined)
        .finally(() => {
          if (isLong) longDrops -= 1
        })
    },
  }
}

/** Resolves when the body has come to its end; rejects when it breaks off, or is longer. */
async function dropBody(request: IncomingMessage, maxBytes: number): Promise<void> {
  let leftBytes = maxBytes
  for await (const chunk of request as AsyncIterable<Buffer>) {
    leftBytes -= chunk.length
    // Leaving the loop destroys the request but not its connection: no more of the body is read or kept.
    if (leftBytes < 0) throw new RangeError('the body is too long to be dropped')
  }
}

/** Ends a stream of HTTP/2 whose response has been written, so that its peer stops sending. */
export function resetUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR)
}
