// The names of the faults, in the order in which they run.

export const faultNames = [
  // First: it begins with the previous release, and all others are of this one.
  'upgrade',
  'primary-killed',
  'switchover',
  'postgres-rolling',
  'restore',
  'nats-leader-killed',
  'nats-leader-partitioned',
  'nats-down',
  'nats-rolling',
  'accounts-partitioned',
  'gateway-frozen',
  'rolling-restart',
] as const

/** One of them. */
export type FaultName = (typeof faultNames)[number]
