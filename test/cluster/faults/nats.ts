// Faults of NATS: the leader of the stream is lost or cut off; all servers are down.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, seconds } from './fault.ts'

const partitionMs = 15_000
const downMs = 20_000

/** Creating a payment needs no broker. */
const noCreateFails: Fault['mustBeZero'] = ({ createsFailed }) => ({
  'creates that failed': createsFailed,
})
const firstPush: Fault['measured'] = ({ firstPushS, slowestPushS }) =>
  `first push of a new payment after ${seconds(firstPushS)}, slowest push ${seconds(slowestPushS)} after its payment`

const leaderKilled: Fault = {
  name: 'nats-leader-killed',
  title: 'The machine of the NATS server that leads the stream is lost',
  required: 'the first push within 5 s; no create fails',
  async inject({ nats }) {
    const lost = await nats.streamLeader()
    await nats.lose(lost)
    return { facts: {}, restore: () => nats.bringBack(lost) }
  },
  mustBeZero: noCreateFails,
  measured: firstPush,
}

const leaderPartitioned: Fault = {
  name: 'nats-leader-partitioned',
  title: `The NATS server that leads the stream is cut off for ${partitionMs / 1_000} s`,
  required: 'the first push within 5 s; no create fails',
  async inject({ nats, network }) {
    const leader = await nats.streamLeader()
    await network.cut(leader)
    await sleep(partitionMs)
    await network.join(leader)
    return { facts: {} }
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

export const natsFaults = [leaderKilled, leaderPartitioned, allDown]
