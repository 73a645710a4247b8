// A TCP proxy that counts the connections through it and can cut or hold those of HTTP/2; for tests only.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy, and what has passed through it. */
export interface TcpProxy {
  url: string
  /** Connections that did not begin as HTTP/2. */
  others: number
  /** Connections that began as HTTP/2, which our clients use for call streams alone. */
  streams: number
  /** Bytes of callers in DATA frames of HTTP/2: calls over call streams. */
  streamedBytes: number
  /** Cuts all connections of HTTP/2. */
  cut(): void
  /** Stops forwarding over HTTP/2 without closing the connections. */
  hold(): void
  /** Cuts all connections and stops listening. */
  close(): Promise<void>
}

const prefaceBytes = 24
const frameHeadBytes = 9

/** Returns the bytes of DATA frames in what one side of HTTP/2 sends, chunk by chunk. */
function dataCounter(): (chunk: Buffer) => number {
  let bytes = Buffer.alloc(0)
  let skip = prefaceBytes
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk])
    let found = 0
    while (bytes.length >= skip + frameHeadBytes) {
      const length = bytes.readUIntBE(skip, 3)
      if (bytes[skip + 3] === 0) found += length
      bytes = bytes.subarray(skip + frameHeadBytes)
      skip = length
    }
    return found
  }
}

/** Opens a proxy to `url` on a free port. Throws a TypeError for a bad URL. The caller closes it. */
export async function startProxy(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  const streaming = new Set<Socket>()
  const all = new Set<Socket>()
  let isHeld = false
  const server = createServer((caller) => {
    const called = connect(Number(port), hostname)
    const countData = dataCounter()
    let isStream: boolean | undefined
    caller.on('data', (chunk: Buffer) => {
      if (isStream === undefined) {
        isStream = chunk.toString('latin1').startsWith('PRI')
        proxy[isStream ? 'streams' : 'others'] += 1
        if (isStream) streaming.add(caller).add(called)
      }
      if (isStream) proxy.streamedBytes += countData(chunk)
      if (!isStream || !isHeld) called.write(chunk)
    })
    called.on('data', (chunk: Buffer) => {
      if (isStream !== true || !isHeld) caller.write(chunk)
    })
    for (const [one, other] of [
      [caller, called],
      [called, caller],
    ] as const) {
      all.add(one)
      one.on('error', () => undefined)
      one.once('end', () => other.end())
      one.once('close', () => {
        all.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: TcpProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    others: 0,
    streams: 0,
    streamedBytes: 0,
    cut() {
      for (const socket of streaming) socket.destroy()
    },
    hold() {
      isHeld = true
    },
    async close() {
      for (const socket of all) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

/** Calls until a call has gone over a call stream. Rejects with the error of a call. */
export async function untilStreamed(proxy: TcpProxy, call: () => Promise<unknown>): Promise<void> {
  while (proxy.streamedBytes === 0) await call()
}
