// A server that speaks frames and replies as a test scripts it; for tests only.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { FrameQueue, FrameReader, frameKind, preface } from '../../rpc/fast-path/frames.ts'

/** A frame that was read whole. */
export interface Frame {
  kind: number
  call: number
  head: string
  body: Buffer
}

/** A reader that keeps every body of at most `maxBytes`. It throws a RangeError for bytes that are no frame. */
export function wholeFrames(maxBytes: number, take: (frame: Frame) => void): FrameReader {
  return new FrameReader(maxBytes, ({ kind, call, head }) => (body) => {
    take({ kind, call, head, body })
  })
}

/** The server's end of a link. */
export interface Peer {
  socket: Socket
  /** The frames that were received, except calls to `/up`, which are answered at once. */
  frames: Frame[]
  /** The number of calls to `/up`. */
  up: number
  /** Waits for so many frames. */
  came(count: number): Promise<Frame[]>
  /** Sends a frame without a body. */
  say(kind: number, call: number, head?: string): void
}

/** The server. */
export interface FrameServer {
  origin: string
  ends: Peer[]
  /** Requests that came over HTTP; they are answered with 204. */
  requests: number
  /** Accepts no more connections; links stay. */
  refuse(): void
  /** Cuts all connections and stops listening. */
  close(): Promise<void>
}

/** Starts one on a free port. */
export async function startFrameServer(): Promise<FrameServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', (hello: Buffer) => {
      if (hello.equals(preface)) started.ends.push(serveFrames(socket))
      else {
        started.requests += 1
        socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const started: FrameServer = {
    origin: `http://127.0.0.1:${port}`,
    ends: [],
    requests: 0,
    refuse: () => void server.close(),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return started
}

function serveFrames(socket: Socket): Peer {
  const frames: Frame[] = []
  const end: Peer = {
    socket,
    frames,
    up: 0,
    async came(count) {
      while (frames.length < count) await once(socket, 'frame')
      return frames
    },
    say(kind, call, head) {
      const queue = new FrameQueue()
      queue.add(kind, call, head)
      socket.write(queue.take())
    },
  }
  const reader = wholeFrames(1 << 20, (frame) => {
    if (frame.head.startsWith('["/up"')) {
      end.up += 1
      end.say(frameKind.answer, frame.call)
    } else frames.push(frame)
    socket.emit('frame')
  })
  socket.on('data', (chunk: Buffer) => reader.read(chunk))
  socket.write(preface)
  return end
}
