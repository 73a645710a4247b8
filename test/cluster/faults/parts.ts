// Faults of our own processes: a replica is cut off or frozen; everything is restarted.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import { freeze } from '../../support/freeze.ts'
import { checks, detectedWithinS } from '../lab/balancer.ts'
import type { Lab } from '../lab/lab.ts'
import type { Replica } from '../lab/parts.ts'
import { type Fault, seconds } from './fault.ts'

const partitionMs = 15_000
const frozenMs = 15_000
const readyWithinMs = 60_000
/** As in the manifests: minReadySeconds. */
const minReadyMs = 5_000

const accountsPartitioned: Fault = {
  name: 'accounts-partitioned',
  title: `A replica of accounts is cut off for ${partitionMs / 1_000} s`,
  required: 'no create for at most 1 s; no create fails',
  async inject({ parts, network }) {
    const { host } = parts.one('accounts')
    await network.cut(host)
    await sleep(partitionMs)
    await network.join(host)
    return { facts: {} }
  },
  mustBeZero: ({ createsFailed }) => ({ 'creates that failed': createsFailed }),
  measured: ({ gapS, slowestCreateS }) =>
    `no create for ${seconds(gapS)}, slowest create ${seconds(slowestCreateS)}`,
}

const gatewayFrozen: Fault = {
  name: 'gateway-frozen',
  title: `A replica of the gateway is frozen for ${frozenMs / 1_000} s`,
  required: `no request waits longer than the load balancer takes to notice (${checks.fall} checks, one each ${checks.everyS} s, of at most ${checks.timeoutS} s)`,
  async inject({ parts }) {
    const thaw = await freeze(parts.one('gateway').pid())
    await sleep(frozenMs)
    thaw()
    return { facts: {} }
  },
  // A second for what the balancer itself takes on a busy machine.
  detectedAfterMs: (detectedWithinS + 1) * 1_000,
  mustBeZero: ({ failedAfterDetection }) => ({
    'operations that failed after the balancer had detected it': failedAfterDetection,
  }),
  measured: ({ disturbedS, slowestCreateS }) =>
    `requests failed or took more than a second for ${seconds(disturbedS)}, slowest create ${seconds(slowestCreateS)}`,
}

/** How processes stopped, that were restarted one after the other. */
export type Stops = { stops: number; unclean: number; maxStopS: number }

/** Restarts replicas one after the other, as Kubernetes does with a Deployment, and adds how they stopped. */
export async function restartAll(
  { balancer }: Lab,
  replicas: readonly Replica[],
  facts: Stops,
  version?: string,
): Promise<void> {
  for (const one of replicas) {
    const isGateway = one.part === 'gateway'
    if (isGateway) await balancer.leave(one.host)
    const stopped = await one.stop()
    facts.stops += 1
    facts.unclean += stopped.isClean ? 0 : 1
    facts.maxStopS = Math.max(facts.maxStopS, stopped.seconds)
    await one.start(version)
    await eventually(() => one.isReady(), readyWithinMs)
    if (isGateway) await balancer.enter(one.host)
    await sleep(minReadyMs)
  }
}

/** What must be 0 where processes are restarted. */
export const nothingFails: NonNullable<Fault['mustBeZero']> = (
  { createsFailed, othersFailed },
  { unclean = Number.NaN },
) => ({
  'creates that failed': createsFailed,
  'other operations that failed': othersFailed,
  'processes that did not stop cleanly': unclean,
})

const rollingRestart: Fault = {
  name: 'rolling-restart',
  title: 'Every replica of every process is restarted, one after the other',
  required: 'no operation fails; a stop takes at most 3 s',
  async inject(lab) {
    const facts = { stops: 0, unclean: 0, maxStopS: 0 }
    await restartAll(lab, lab.parts.all, facts)
    return { facts }
  },
  mustBeZero: nothingFails,
  measured: ({ gapS }, { stops, maxStopS = Number.NaN }) =>
    `${stops} stops of at most ${seconds(maxStopS)}; no create for ${seconds(gapS)}`,
}

export const partFaults = [accountsPartitioned, gatewayFrozen, rollingRestart]
