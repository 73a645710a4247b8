// Events come through although servers of the broker's cluster die, forget, freeze or lose each other.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { connectNats } from '#platform/events/nats/nats.ts'
import { durablesOf } from '#platform/events/topology.ts'
import { eventually } from '../support/eventually.ts'
import { startStopwatch } from '../support/stopwatch.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { type Harness, log, startHarness, testSubjects } from './harness.ts'

/** Elections and time-outs of the servers are most of it. */
const scenarioMs = 60_000
/** A machine that stalls takes longer by the clock on the wall. */
const timeout = 2 * scenarioMs

type Scene = {
  cluster: Cluster
  /** Resolves when an event that is written now has been handled. */
  comeThrough(): Promise<void>
}

/** Ids of events, sorted; one that was handled twice stands there twice. */
type Outcome = { written: string[]; handled: string[] }

/** Runs a scenario on a cluster of its own while events are written without a pause, and waits until all have ended. */
async function underLoad(scenario: (scene: Scene) => Promise<void>): Promise<Outcome> {
  const watch = startStopwatch()
  const cluster = await startCluster(testSubjects)
  const harness = await startHarness(cluster.url)
  const writers = startWriters(harness)
  try {
    harness.startConsumer()
    const { notify } = harness.startProducer()
    const handles = async (eventId: string) => {
      await eventually(async () => {
        // Waits that the database counts are not waited for.
        harness.clock.advance(1_000)
        notify()
        expect(await harness.handled()).toContain(eventId)
      })
    }
    const comeThrough = async () => handles(await writers.write())
    await comeThrough()
    await areWhole(cluster)
    await scenario({ cluster, comeThrough })
    await eventually(async () => expect(writers.count()).toBeGreaterThan(100))
    const written = await writers.end()
    await eventually(async () => {
      harness.clock.advance(1_000)
      expect(await harness.pendingRows()).toBe(0)
    })
    expect(watch.elapsedMs()).toBeLessThan(scenarioMs)
    return { written: written.toSorted(), handled: (await harness.handled()).toSorted() }
  } finally {
    await writers.end()
    await harness.close()
    await cluster.remove()
  }
}

function startWriters(harness: Harness) {
  const written: string[] = []
  const ending = new AbortController()
  const write = async () => {
    const eventId = await harness.write()
    written.push(eventId)
    return eventId
  }
  const running = (async () => {
    while (!ending.signal.aborted) {
      await write()
      await sleep(10)
    }
  })()
  return {
    write,
    count: () => written.length,
    async end() {
      ending.abort()
      await running
      return written
    },
  }
}

/** All three have the whole stream. */
async function areWhole(cluster: Cluster): Promise<void> {
  await eventually(async () => {
    const { cluster: state } = await cluster.streamInfo()
    const whole = state?.replicas?.filter(({ current, offline }) => current && !(offline ?? false))
    expect(whole).toHaveLength(2)
  })
}

describe('in a cluster of three, no event is lost and publication resumes by itself', () => {
  it.concurrent('in a cluster of three, no event is lost and publication resumes by itself when the leader is killed and its store wiped while it is down', {
    timeout,
  }, async () => {
    const { written, handled } = await underLoad(async ({ cluster, comeThrough }) => {
      const leader = await cluster.leader()
      await leader.kill()
      leader.wipe()
      await comeThrough()
      expect((await cluster.leader()).name).not.toBe(leader.name)
      await leader.start()
      await areWhole(cluster)
    })
    expect(handled).toEqual(written)
  })

  it.concurrent('in a cluster of three, no event is lost and publication resumes by itself while the leader is frozen', {
    timeout,
  }, async () => {
    const { written, handled } = await underLoad(async ({ cluster, comeThrough }) => {
      const leader = await cluster.leader()
      await leader.freeze()
      await comeThrough().finally(leader.thaw)
    })
    expect(handled).toEqual(written)
  })

  it.concurrent('in a cluster of three, no event is lost and publication resumes by itself while the leader is cut off from the others', {
    timeout,
  }, async () => {
    const { written, handled } = await underLoad(async ({ cluster, comeThrough }) => {
      const leader = await cluster.leader()
      leader.cutOff()
      await comeThrough().finally(leader.rejoin)
    })
    expect(handled).toEqual(written)
  })

  it.concurrent('in a cluster of three that was down as a whole, a consumer is opened only once it has a leader', {
    timeout,
  }, async () => {
    const cluster = await startCluster(testSubjects)
    const nats = connectNats({ url: cluster.url, name: 'test', log })
    const [durable = { durable: '', subject: '' }] = durablesOf(testSubjects)
    try {
      await eventually(() => nats.openDurable(durable))
      await cluster.restart()
      let isOpen = false
      let leader: string | undefined
      // It is looked for all the time: the first leader may be replaced as soon as the consumer is open.
      const looking = eventually(async () => {
        leader ??= await cluster.consumerLeader(durable.durable)
        expect(isOpen).toBe(true)
      }, scenarioMs)
      // Before, its pulls would be lost, and for seconds no event would come.
      await eventually(() => nats.openDurable(durable), scenarioMs)
      isOpen = true
      await looking
      expect(leader).toMatch(/^n\d$/)
    } finally {
      await nats.close()
      await cluster.remove()
    }
  })
})
