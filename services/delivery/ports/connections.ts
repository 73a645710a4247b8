// A pool of connections to receivers, kept for a few seconds, each for one exchange at a time.
import { performance } from 'node:perf_hooks'
import { Client } from 'undici'
import { type ConnectionFacts, type EgressRule, guardedConnector } from './egress.ts'

/** One connection to one receiver. */
export interface Connection {
  client: Client
  facts: ConnectionFacts
  bornMs: number
  idleSinceMs: number
}

/** The connections of one poster. */
export interface Connections {
  /** A kept connection, or one that will open with its first request. */
  take(origin: string): Connection
  /** Gives a connection back, to be kept when its exchange ended cleanly. */
  put(origin: string, connection: Connection, reusable: boolean): void
  close(): Promise<void>
}

const maxHeaderBytes = 16 * 1_024
/** Shorter than the 5 s of many servers, so that a request seldom meets a closing connection. */
const keepAliveMs = 4_000
/** Maximum age of a connection. A new one resolves the name again, so that receivers can change their address. */
const connectionAgeMs = 120_000
const idleConnections = 512

/** One undici Client is one connection, so each attempt knows its peer, and no attempt waits for the response to another. */
export function createConnections(rule: EgressRule): Connections {
  const idle = new Map<string, Connection[]>()
  let idleCount = 0
  let closed = false

  function open(origin: string): Connection {
    const facts: ConnectionFacts = {}
    const client = new Client(origin, {
      connect: guardedConnector(rule, facts),
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: maxHeaderBytes,
      allowH2: false,
    })
    const connection = { client, facts, bornMs: performance.now(), idleSinceMs: 0 }
    // A closed connection is never opened again: facts belong to one socket.
    client.on('disconnect', () => {
      connection.bornMs = Number.NEGATIVE_INFINITY
    })
    return connection
  }

  function isFresh({ client, bornMs, idleSinceMs }: Connection, nowMs: number): boolean {
    return !client.closed && nowMs - bornMs < connectionAgeMs && nowMs - idleSinceMs < keepAliveMs
  }

  function drop({ client }: Connection): void {
    client.destroy().catch(() => undefined)
  }

  function sweep(): void {
    const nowMs = performance.now()
    for (const [origin, connections] of idle) {
      const fresh = connections.filter((connection) => isFresh(connection, nowMs))
      for (const old of connections) if (!fresh.includes(old)) drop(old)
      idleCount -= connections.length - fresh.length
      if (fresh.length === 0) idle.delete(origin)
      else idle.set(origin, fresh)
    }
  }

  const sweeper = setInterval(sweep, keepAliveMs)
  sweeper.unref()

  return {
    take(origin: string): Connection {
      const connections = idle.get(origin)
      for (let one = connections?.pop(); one !== undefined; one = connections?.pop()) {
        idleCount -= 1
        if (isFresh(one, performance.now())) return one
        drop(one)
      }
      return open(origin)
    },
    put(origin: string, connection: Connection, reusable: boolean): void {
      connection.idleSinceMs = performance.now()
      if (!reusable || idleCount >= idleConnections || closed) return drop(connection)
      idleCount += 1
      const connections = idle.get(origin)
      if (connections === undefined) idle.set(origin, [connection])
      else connections.push(connection)
    },
    async close(): Promise<void> {
      closed = true
      clearInterval(sweeper)
      const all = [...idle.values()].flat()
      idle.clear()
      idleCount = 0
      await Promise.all(all.map(({ client }) => client.destroy()))
    },
  }
}
