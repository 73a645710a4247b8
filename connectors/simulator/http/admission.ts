// Bounds what the public port has in flight: requests, the bytes of their bodies, requests on one connection.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Maximum in flight at once. */
export type AdmissionLimits = {
  /** Requests that are being read or handled. */
  maxRequests: number
  /** Bytes that their bodies announce; one that announces none counts with `maxBodyBytes`. */
  maxBodiesBytes: number
  maxBodyBytes: number
  /** Requests on one connection that have no answer yet: browsers and senders of pushes have one. */
  maxPipelined: number
}

/** What the port does with a request: handle it, answer 503, or nothing because its connection was cut. */
export type Admitted = 'admitted' | 'busy' | 'cut'

/** Counts what is in flight on one server. */
export type Admission = {
  /**
   * Counts a request until its response has ended or its connection is closed. Cuts the connection of one pipelined
   * request too many.
   */
  admit(request: IncomingMessage, response: ServerResponse): Admitted
  /** Frees the slot of a request that only waits from now on. Its body stays in memory, so its bytes count until its response has ended. */
  yieldSlot(request: IncomingMessage): void
}

/** A request without an answer. */
type Pending = { bodyBytes: number; hasSlot: boolean }

/** Makes the limits of one server. */
export function createAdmission(limits: AdmissionLimits): Admission {
  const connections = new Map<Socket, Set<Pending>>()
  const pendings = new WeakMap<IncomingMessage, Pending>()
  let requests = 0
  let bodiesBytes = 0

  function freeSlot(pending: Pending): void {
    if (!pending.hasSlot) return
    pending.hasSlot = false
    requests -= 1
  }

  function release(pending: Pending): void {
    freeSlot(pending)
    bodiesBytes -= pending.bodyBytes
    // Response and connection both close.
    pending.bodyBytes = 0
  }

  function pendingOn(socket: Socket): Set<Pending> {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const pending = new Set<Pending>()
    connections.set(socket, pending)
    socket.once('close', () => {
      connections.delete(socket)
      for (const one of pending) release(one)
    })
    return pending
  }

  return {
    admit(request, response) {
      const { socket } = request
      // A request may be parsed after its connection was cut.
      if (socket.destroyed) return 'cut'
      const onConnection = pendingOn(socket)
      if (onConnection.size >= limits.maxPipelined) {
        socket.destroy()
        return 'cut'
      }
      const bodyBytes = announcedBytes(request, limits.maxBodyBytes)
      const isBusy =
        requests >= limits.maxRequests || bodiesBytes + bodyBytes > limits.maxBodiesBytes
      const pending = { bodyBytes: isBusy ? 0 : bodyBytes, hasSlot: !isBusy }
      onConnection.add(pending)
      response.once('close', () => {
        onConnection.delete(pending)
        release(pending)
      })
      if (isBusy) return 'busy'
      requests += 1
      bodiesBytes += bodyBytes
      pendings.set(request, pending)
      return 'admitted'
    },
    yieldSlot(request) {
      const pending = pendings.get(request)
      if (pending !== undefined) freeSlot(pending)
    },
  }
}

/**
 * Bytes that a body may take; a body above the limit counts with the limit, because it is refused before it is read.
 */
function announcedBytes({ headers }: IncomingMessage, maxBodyBytes: number): number {
  const length = headers['content-length']
  if (length !== undefined) return Math.min(Number(length), maxBodyBytes)
  return headers['transfer-encoding'] === undefined ? 0 : maxBodyBytes
}
