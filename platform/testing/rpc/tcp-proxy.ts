// A TCP proxy that counts the connections through it and can cut or hold them; for tests only.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { preface } from '../../rpc/fast-path/frames.ts'

/** A proxy, and what has passed through it. */
export interface TcpProxy {
  url: string
  /** Connections that began as HTTP. */
  plain: number
  /** Connections that began with the preface of a link. */
  links: number
  /** Bytes of callers over links, the preface aside. */
  linkedBytes: number
  /** Cuts all links. */
  cut(): void
  /** Stops forwarding over links without closing them. */
  hold(): void
  /** Cuts all connections and stops listening. */
  close(): Promise<void>
}

/** Opens a proxy to `url` on a free port. */
export async function startProxy(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  const linked = new Set<Socket>()
  const all = new Set<Socket>()
  let isHeld = false
  const server = createServer((caller) => {
    const called = connect(Number(port), hostname)
    let seen = Buffer.alloc(0)
    let kind: 'plain' | 'link' | undefined
    caller.on('data', (chunk: Buffer) => {
      if (kind === 'link') proxy.linkedBytes += chunk.length
      if (kind === undefined) {
        seen = Buffer.concat([seen, chunk])
        kind = seen.subarray(0, preface.length).equals(preface) ? 'link' : 'plain'
        proxy[kind === 'link' ? 'links' : 'plain'] += 1
        if (kind === 'link') linked.add(caller).add(called)
      }
      if (kind !== 'link' || !isHeld) called.write(chunk)
    })
    called.on('data', (chunk: Buffer) => {
      if (kind !== 'link' || !isHeld) caller.write(chunk)
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
    plain: 0,
    links: 0,
    linkedBytes: 0,
    cut() {
      for (const socket of linked) socket.destroy()
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

/** Calls until a call has gone over a link. Rejects with the error of a call. */
export async function linkUp(proxy: TcpProxy, call: () => Promise<unknown>): Promise<void> {
  while (proxy.linkedBytes === 0) await call()
}
