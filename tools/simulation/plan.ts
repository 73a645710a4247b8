// What a seed stands for: how many processes there are, what they have to do, and which faults they meet.
import { seededRandom } from '../campaign/random.ts'
import type { NetworkFaults } from './network.ts'

/** A run, as its seed draws it. Each kind of fault is in about half of the runs, so that few hide behind others. */
export type Plan = {
  /** No fault at all, and one process of each kind: then pushes come in order. */
  isCalm: boolean
  producers: number
  deliveries: number
  payments: number
  eventsPerPayment: number
  /** Maximum pause of a client between two events of a payment. */
  maxGapMs: number
  network: NetworkFaults
  /** Mean time between two faults of a kind; none when undefined. */
  crashEveryMs: number | undefined
  pauseEveryMs: number | undefined
  cutEveryMs: number | undefined
  brokerEveryMs: number | undefined
  /** Share of pauses that are longer than every lease. */
  longPauseShare: number
  /** Share of POSTs and RPCs during which their process meets a fault, and of messages that the broker acknowledges and loses. */
  targetedShare: number
  /** How far the wall clocks of processes are apart at most. */
  maxSkewMs: number
  /** Share of POSTs that do not end with 2xx, and of bills that the biller refuses. */
  refusedShare: number
  /** Share of POSTs and of bills that take seconds. */
  slowPostShare: number
  /** When faults end: from then on everything must come to its end. */
  faultsMs: number
  billings: number
  accounts: number
  bills: number
  /** Transfers that fund each float, one after the other. */
  transfers: number
  /** The bills begin within this time. */
  billsWithinMs: number
  /** Payments with charges, and the time within which they begin. */
  charged: number
  chargedWithinMs: number
  /** Seconds that a payer has to pay. */
  timeToPayS: number
}

/** The plan of a seed. */
export function planOf(seed: number): Plan {
  // Other numbers than those that the run draws.
  const random = seededRandom(seed ^ 0x5eed)
  const has = (share = 0.5): boolean => random.next() < share
  const isCalm = has(0.15)
  const faulty = (share?: number): boolean => has(share) && !isCalm
  const share = (max: number, often?: number): number => (faulty(often) ? random.next() * max : 0)
  const every = (minMs: number, maxMs: number) =>
    faulty(0.6) ? random.whole(minMs, maxMs) : undefined
  return {
    isCalm,
    producers: isCalm ? 1 : random.whole(1, 2),
    deliveries: isCalm ? 1 : random.whole(1, 3),
    payments: isCalm ? 8 : random.whole(2, 5),
    eventsPerPayment: random.whole(1, 3),
    // Without faults only a burst makes pushes wait for each other.
    maxGapMs: isCalm ? 50 : 1_500,
    network: {
      slowShare: share(0.05),
      slowMs: random.pick([300, 3_000, 12_000]),
      requestLostShare: share(0.03),
      answerLostShare: share(0.03),
      lostShare: share(0.15),
    },
    crashEveryMs: every(1_500, 15_000),
    pauseEveryMs: every(2_000, 20_000),
    cutEveryMs: every(2_000, 15_000),
    brokerEveryMs: every(3_000, 20_000),
    longPauseShare: share(0.5),
    targetedShare: share(0.4, 0.8),
    maxSkewMs: faulty() ? random.pick([500, 60_000, 3_600_000]) : 0,
    refusedShare: share(0.7, 0.8),
    slowPostShare: share(0.8, 0.8),
    faultsMs: random.whole(3_000, 15_000),
    billings: isCalm ? 1 : random.whole(1, 2),
    accounts: isCalm ? 1 : random.whole(1, 2),
    bills: random.whole(3, 8),
    transfers: random.whole(1, 3),
    billsWithinMs: random.pick([1, 100, 3_000, 30_000]),
    charged: random.whole(2, 5),
    chargedWithinMs: random.pick([1, 100, 3_000, 10_000]),
    timeToPayS: random.pick([3, 12, 30]),
  }
}

/** The plan of a seed for delivery: in some, processes that lost a lease in a pause go on while others have it and fail, too. */
export function deliveryPlanOf(seed: number): Plan {
  const plan = planOf(seed)
  if (plan.isCalm || seed % 8 !== 0) return plan
  const pauses = { pauseEveryMs: 8_000, longPauseShare: 0.7, targetedShare: 0.3 }
  const posts = { refusedShare: 0.7, slowPostShare: 0.8 }
  return { ...plan, ...pauses, ...posts, deliveries: 3, faultsMs: 90_000 }
}

/** The plan of a seed for bills: in some, faults last long enough that claims of ended processes are recovered meanwhile. */
export function billPlanOf(seed: number): Plan {
  const plan = planOf(seed)
  return { ...plan, faultsMs: plan.faultsMs * (seed % 2 === 0 ? 1 : 5) }
}
