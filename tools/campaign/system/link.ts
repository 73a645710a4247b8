// The network between two processes: a TCP proxy that can be cut, fall silent, be slow, or lose answers.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import net from 'node:net'

/**
 * What a link does. `cut`: connections end, and new ones end at once. `silent`: nothing passes, and what was sent arrives when
 * the link is open again. `slow`: every packet is delayed. `deaf`: requests pass, answers are lost, and connections end when
 * the link is open again.
 */
export type Mode = 'open' | 'cut' | 'silent' | 'slow' | 'deaf'

/** A link to one process. */
export type Link = {
  url: string
  /** Where it leads. */
  leadTo(port: number): void
  set(mode: Mode): void
  close(): void
}

const slowMs = 400

type Pair = { client: net.Socket; server: net.Socket }

/** Opens a link on a port of its own. */
export async function openLink(): Promise<Link> {
  let mode: Mode = 'open'
  let target = 0
  const pairs = new Set<Pair>()

  const pipe = (from: net.Socket, to: net.Socket, isAnswer: boolean): void => {
    from.on('data', (chunk: Buffer) => {
      if (mode === 'deaf' && isAnswer) return
      // Node runs timers of one length in their order, so the packets stay in theirs.
      if (mode === 'slow') setTimeout(() => to.writable && to.write(chunk), slowMs)
      else to.write(chunk)
    })
    from.on('error', () => undefined)
    from.on('close', () => to.destroy())
  }
  const accept = (client: net.Socket): void => {
    if (mode === 'cut') {
      client.destroy()
      return
    }
    const server = net.connect(target, '127.0.0.1')
    const pair = { client, server }
    for (const socket of [client, server]) socket.setNoDelay(true)
    pairs.add(pair)
    server.on('close', () => pairs.delete(pair))
    pipe(client, server, false)
    pipe(server, client, true)
    if (mode === 'silent') hold(pair)
  }
  const listener = net.createServer(accept)
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo

  const end = (): void => {
    for (const { client, server } of pairs) {
      client.destroy()
      server.destroy()
    }
  }
  return {
    url: `http://127.0.0.1:${port}`,
    leadTo(next) {
      target = next
    },
    set(next) {
      const before = mode
      mode = next
      if (next === 'cut' || before === 'deaf') end()
      for (const pair of pairs) {
        if (next === 'silent') hold(pair)
        else release(pair)
      }
    },
    close() {
      listener.close()
      end()
    },
  }
}

function hold({ client, server }: Pair): void {
  client.pause()
  server.pause()
}

function release({ client, server }: Pair): void {
  client.resume()
  server.resume()
}
