// Counts the round trips between a service and PostgreSQL, on the wire; it must not change what passes.
import net from 'node:net'

/** A way to PostgreSQL that counts. */
export type CountingWire = { url: string; roundTrips(): number; close(): Promise<void> }

/** A relay in front of PostgreSQL that counts the answers `ready for query`: one ends each round trip. */
export async function countRoundTrips(target: URL): Promise<CountingWire> {
  let count = 0
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(target.port), target.hostname)
    client.pipe(upstream)
    upstream.pipe(client)
    let pending: Buffer = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk])
      // Each message is a letter, then a length that counts itself.
      while (pending.length >= 5) {
        const length = 1 + pending.readInt32BE(1)
        if (pending.length < length) return
        if (pending[0] === 'Z'.charCodeAt(0)) count += 1
        pending = pending.subarray(length)
      }
    })
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as net.AddressInfo).port)
  return {
    url: url.href,
    roundTrips: () => count,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
