// Passes connections to ports of loopback on to the same ports of another machine, so that pushes leave a container.
import { once } from 'node:events'
import net from 'node:net'
import { pipeline } from 'node:stream/promises'

/** A port of another machine, as FORWARD_TO names it. */
export type ForwardTarget = { host: string; port: number }

/**
 * Listens on 127.0.0.1 at the port of each target; returns the function that stops it and ends its connections. A connection
 * that the target does not take is closed. Rejects with the system's error, such as EADDRINUSE.
 */
export async function forwardPorts(
  targets: readonly ForwardTarget[],
): Promise<() => Promise<void>> {
  const open = new Set<net.Socket>()
  const servers = targets.map((target) =>
    net.createServer({ allowHalfOpen: true }, (inner) => void pass(inner, target, open)),
  )
  await Promise.all(
    servers.map((server, index) => {
      server.listen(targets[index]?.port, '127.0.0.1')
      return once(server, 'listening')
    }),
  )
  return async () => {
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const socket of open) socket.destroy()
    await Promise.all(closed)
  }
}

async function pass(
  inner: net.Socket,
  target: ForwardTarget,
  open: Set<net.Socket>,
): Promise<void> {
  const outer = net.connect({ ...target, allowHalfOpen: true })
  for (const socket of [inner, outer]) {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  }
  // Each end that breaks off breaks the other one off.
  await Promise.allSettled([pipeline(inner, outer), pipeline(outer, inner)])
  inner.destroy()
  outer.destroy()
}
