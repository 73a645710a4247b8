// Drains, within bounds, the bodies of requests that were answered before they were read.

import type { IncomingMessage } from 'node:http'
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { ServedCall } from '../server/served-call.ts'

/** A caller that still sends may miss the answer once its connection is closed, so it gets some time to read it. */
const lingerMs = 2_000
/** Some clients read nothing before they have sent all. */
const maxDroppedBytes = 16 * 1024 * 1024
const maxDroppedOfOthersBytes = 64 * 1024
/** What is dropped costs memory too, until it is collected: so many bodies at once may be long. */
const maxLongDrops = 4

/** Drops the bodies of requests over HTTP/1.1. */
export interface Dropper {
  /**
   * Drops the rest of the body of a call: all of a known caller's, unless there was no room for it or others are dropped
   * already. After that the connection is not read any more, and cut in the end. Called before the answer is written, it also
   * keeps Node.js from reading on without bounds.
   */
  drop(request: IncomingMessage, call: ServedCall): void
}

/** Makes the dropper of a server. */
export function createDropper(): Dropper {
  let longDrops = 0
  return {
    drop(request, { caller, lease }) {
      if (request.complete || request.destroyed) return
      const isWelcome = caller !== undefined && lease?.wasRefused !== true
      const isLong = isWelcome && longDrops < maxLongDrops
      if (isLong) longDrops += 1
      const { socket } = request
      const cut = setTimeout(() => socket.destroy(), lingerMs).unref()
      const over = () => clearTimeout(cut)
      socket.once('close', over)
      // A reader that stopped half-way still stands in the way.
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
    // Leaving the loop destroys the request, but not its connection: nothing of it is read or kept any more.
    if (leftBytes < 0) throw new RangeError('the body is too long to be dropped')
  }
}

/** Ends a stream of HTTP/2 whose answer has been written, so that its peer stops sending. */
export function resetUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR)
}
