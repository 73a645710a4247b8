// How long messages take in a run, and which are lost: as the seed has drawn it, until faults end.
import type { Random } from '../campaign/random.ts'

/** What a message is for. */
export type Traffic = 'database' | 'broker' | 'service' | 'receiver'

/** Shares of messages, from 0 to 1. */
export type NetworkFaults = {
  /** That take up to `slowMs`. */
  slowShare: number
  slowMs: number
  /** Of requests to the database, lost with their connection. */
  requestLostShare: number
  /** Of answers of the database to executed statements, lost with their connection. */
  answerLostShare: number
  /** Of all other messages. */
  lostShare: number
}

export type Network = {
  /** How long the next message takes. */
  delayMs(traffic: Traffic): number
  isLost(what: 'request' | 'answer' | 'message'): boolean
  /** From now on nothing is lost, and nothing is slow. */
  heal(): void
}

const usualMs: Record<Traffic, { min: number; max: number }> = {
  database: { min: 0.1, max: 1.5 },
  broker: { min: 0.1, max: 3 },
  service: { min: 0.2, max: 4 },
  receiver: { min: 2, max: 200 },
}

/** A network that draws from a run's numbers. */
export function createNetwork(random: Random, faults: NetworkFaults): Network {
  let isHealed = false
  const shares = () => ({
    request: faults.requestLostShare,
    answer: faults.answerLostShare,
    message: faults.lostShare,
  })
  return {
    delayMs(traffic) {
      const { min, max } = usualMs[traffic]
      if (!isHealed && random.next() < faults.slowShare) return random.next() * faults.slowMs
      return min + random.next() * (max - min)
    },
    isLost: (what) => !isHealed && random.next() < shares()[what],
    heal() {
      isHealed = true
    },
  }
}
