// Faults of NATS: the leader of the stream is lost or cut off; all servers are down; they are restarted in turn.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import type { Lab } from '../lab/lab.ts'
import type { Host } from '../lab/network.ts'
import { type Fault, seconds } from './fault.ts'

const partitionMs = 15_000
const downMs = 20_000
const electedWithinMs = 60_000

/** Creating a payment needs no broker. */
const noCreateFails: Fault['mustBeZero'] = ({ createsFailed }) => ({
  'creates that failed': createsFailed,
})
const firstPush: Fault['measured'] = ({ firstPushS, latestPushS }, { electedS = Number.NaN }) =>
  `first push of a new payment after ${seconds(firstPushS)}; NATS elected a leader of the stream in ${seconds(electedS)}, and the last push of that time came ${seconds(latestPushS)} later`

/** Seconds until another server leads the stream. */
async function secondsUntilElected({ nats }: Lab, former: Host): Promise<number> {
  const beganMs = performance.now()
  await eventually(
    () => nats.streamLeader(),
    ({ name }) => {
      if (name === former.name) throw new Error(`${name} still leads the stream`)
    },
    electedWithinMs,
  )
  return (performance.now() - beganMs) / 1_000
}

const leaderKilled: Fault = {
  name: 'nats-leader-killed',
  title: 'The machine of the NATS server that leads the stream is lost',
  required: 'the first push within 5 s; no create fails',
  async inject(lab) {
    const { nats } = lab
    const lost = await nats.streamLeader()
    await nats.lose(lost)
    const electedS = await secondsUntilElected(lab, lost)
    return { facts: { electedS }, restore: () => nats.bringBack(lost) }
  },
  mustBeZero: noCreateFails,
  measured: firstPush,
}

const leaderPartitioned: Fault = {
  name: 'nats-leader-partitioned',
  title: `The NATS server that leads the stream is cut off for ${partitionMs / 1_000} s`,
  required: 'the first push within 5 s; no create fails',
  async inject(lab) {
    const { nats, network } = lab
    const leader = await nats.streamLeader()
    await network.cut(leader)
    const [electedS] = await Promise.all([secondsUntilElected(lab, leader), sleep(partitionMs)])
    await network.join(leader)
    return { facts: { electedS } }
  },
  mustBeZero: noCreateFails,
  measured: firstPush,
}

const allDown: Fault = {
  name: 'nats-down',
  title: `All NATS servers are down for ${downMs / 1_000} s`,
  required: 'pushes at most 5 s after the servers are back; no create fails',
  async inject({ nats }) {
    for (const member of nats.members) await nats.lose(member)
    await sleep(downMs)
    await Promise.all(nats.members.map((member) => nats.bringBack(member)))
    await nats.healthy()
    return { facts: {} }
  },
  mustBeZero: noCreateFails,
  measured: ({ latestPushS }) =>
    `last push of payments of that time ${seconds(latestPushS)} after the servers were back`,
}

const rolling: Fault = {
  name: 'nats-rolling',
  title: 'Every NATS server is restarted, one after the other',
  required: 'no push later than 5 s; no create fails',
  async inject({ nats }) {
    for (const member of nats.members) {
      await nats.stop(member)
      await nats.start(member)
      await nats.healthy()
    }
    return { facts: {} }
  },
  mustBeZero: noCreateFails,
  measured: ({ slowestPushS }) =>
    `the slowest first push came ${seconds(slowestPushS)} after its payment`,
}

export const natsFaults = [leaderKilled, leaderPartitioned, allDown, rolling]
