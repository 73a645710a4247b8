// Reconciles the stream and its durable consumers at the broker. Only the broker user of this process may change them.

import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Nats } from './nats/nats.ts'
import { consumedSubjects, type DurableOptions, durablesOf } from './topology.ts'

/** The broker, and the consumers that it must have. */
export type StreamControllerOptions = {
  nats: Nats
  /** By default, those of the processes of the mesh. */
  consumers?: DurableOptions[]
  log: Logger
}

/** A running stream controller. */
export type StreamController = {
  /** True once the broker has confirmed stream and consumers on the present connection. */
  ready(): boolean
  /** Stops after the current round; the stream and its consumers stay. */
  close(): Promise<void>
}

/** Pause between two checks, so also the maximum time for which a deleted stream is missing. A new connection is checked at once. */
const checkMs = 2_000

/**
 * Starts it. The broker need not be up: the stream is checked at every connection and then every two seconds. Errors
 * are logged once, and the loop goes on.
 */
export function startStreamController(options: StreamControllerOptions): StreamController {
  const { nats, consumers = durablesOf(consumedSubjects), log } = options
  let exists = false
  let failing = false

  async function round(): Promise<boolean> {
    if (!nats.ready()) {
      exists = false
      return false
    }
    try {
      const { made, corrected } = await nats.ensureStream(consumers)
      for (const durable of made) log.info({ durable }, 'stream or consumer created')
      for (const durable of corrected) log.warn({ durable }, 'stream or consumer corrected')
      exists = true
      failing = false
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'stream not created')
      exists = false
      failing = true
    }
    return false
  }

  const loop = startLoop({ kind: 'stream', log, pauseMs: checkMs, round })
  const forget = nats.onConnected(loop.notify)
  return {
    ready: () => exists && nats.ready(),
    close() {
      forget()
      return loop.close()
    },
  }
}
