// How many read-only calls may be hedged, and that a replica that hangs delays none.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { freeze } from '../../../test/support/freeze.ts'
import { startStopwatch } from '../../../test/support/stopwatch.ts'
import { startInbox } from '../../testing/rpc/harness.ts'
import { createRpcClient, createRpcPool, type RpcPool } from './client.ts'
import { HedgeBudget, hedgeCounts } from './hedging.ts'

describe('the budget', () => {
  const spendAll = (budget: HedgeBudget): number => {
    let spent = 0
    while (budget.spend()) spent += 1
    return spent
  }

  it('the budget of hedged calls allows 20 at once, and then one for ten calls', () => {
    const budget = new HedgeBudget(() => 0)
    expect(spendAll(budget)).toBe(20)
    for (let call = 0; call < 1_001; call += 1) budget.earn()
    expect(spendAll(budget)).toBe(20)
    for (let call = 0; call < 51; call += 1) budget.earn()
    expect(spendAll(budget)).toBe(5)
  })

  it('the budget of hedged calls allows one a second besides', () => {
    let nowMs = 0
    const budget = new HedgeBudget(() => nowMs)
    spendAll(budget)
    nowMs = 999
    expect(spendAll(budget)).toBe(0)
    nowMs = 3_000
    expect(spendAll(budget)).toBe(3)
  })
})

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Two replicas in this process, by number, whose answers the test chooses; and a client of both. */
async function twoReplicas(answer: (replica: 1 | 2) => Promise<unknown>) {
  const asked = { 1: 0, 2: 0 }
  const handlerOf = (replica: 1 | 2) => async () => {
    asked[replica] += 1
    await answer(replica)
    return {}
  }
  const first = await startInbox(handlerOf(1), { host: '127.0.0.1' })
  const identity = first.identityOf('delivery')
  const { port } = first.server
  const second = await startInbox(handlerOf(2), { host: '127.0.0.2', port, identity })
  closers.push(
    () => first.server.close(),
    () => second.server.close(),
  )
  const url = `http://127.0.0.1:${port},http://127.0.0.2:${port}`
  const pool = createRpcPool(url)
  closers.push(() => pool.close())
  const shared = { url, audience: 'delivery', identity: first.identityOf('payments') }
  const callBy = (by: RpcPool) => {
    const client = createRpcClient(InboxService, { ...shared, pool: by, timeoutMs: 20_000 })
    return (signal?: AbortSignal) =>
      client.seen({ eventIds: [newId()] }, signal === undefined ? {} : { signal })
  }
  return { asked, call: callBy(pool), callOnce: callBy({ undici: pool.undici, close: pool.close }) }
}

it('a call goes to a replica that was left alone, when there is no other', async () => {
  const never = new Promise<never>(() => undefined)
  let silent: 1 | 2 = 2
  const { asked, call } = await twoReplicas((replica) =>
    replica === silent ? never : Promise.resolve(),
  )
  // So often in a row without an answer that it is left alone for 5 s.
  while (asked[2] < 8) await call()
  silent = 1
  await call()
  expect(asked[2]).toBe(9)
})

it('a replica is not left alone because the other was faster', async () => {
  const never = new Promise<never>(() => undefined)
  let isHeld = true
  const reached = Promise.withResolvers<void>()
  let secondAsked = Promise.withResolvers<void>()
  const { asked, call, callOnce } = await twoReplicas((replica) => {
    if (!isHeld) return Promise.resolve()
    if (replica === 1) return secondAsked.promise
    secondAsked.resolve()
    reached.resolve()
    return never
  })
  // One call under way at the second: the first is the less busy one from here on.
  const leaving = new AbortController()
  secondAsked.resolve()
  let held: Promise<unknown> = Promise.resolve()
  while (asked[2] === 0) {
    held = callOnce(leaving.signal).catch(() => undefined)
    await Promise.race([held, reached.promise])
  }
  const { lost } = hedgeCounts
  for (let made = 0; made < 9; made += 1) {
    secondAsked = Promise.withResolvers<void>()
    await call()
  }
  expect(hedgeCounts.lost).toBe(lost + 9)
  isHeld = false
  leaving.abort()
  await held
  const before = asked[2]
  for (let made = 0; made < 30; made += 1) await call()
  expect(asked[2]).toBeGreaterThan(before)
})

it('no read-only call waits a second for a replica that hangs', async () => {
  const alive = await startInbox(() => ({}), { host: '127.0.0.1' })
  closers.push(() => alive.server.close())
  const { port } = alive.server
  const script = join(import.meta.dirname, '../../testing/rpc/delivery-instance.ts')
  const child = fork(script, [alive.dir, '127.0.0.2', String(port), '0'])
  closers.push(() => child.kill('SIGKILL'))
  await once(child, 'message')
  const url = `http://127.0.0.1:${port},http://127.0.0.2:${port}`
  const identity = alive.identityOf('payments')
  const callerOf = () => {
    const pool = createRpcPool(url)
    closers.push(() => pool.close())
    const client = createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
    return () => client.seen({ eventIds: [newId()] })
  }
  const seen = { called: 0 }
  child.on('message', () => {
    seen.called += 1
  })
  // First calls are slow, and may use up the budget of those who make them.
  const other = callerOf()
  while (seen.called < 20) await other()
  const call = callerOf()
  // Connections to both, and links.
  while (seen.called < 40) await call()

  const thaw = await freeze(child.pid ?? 0)
  const { won } = hedgeCounts
  const slowest = { ms: 0 }
  try {
    for (let made = 0; made < 40; made += 1) {
      const watch = startStopwatch()
      await call()
      slowest.ms = Math.max(slowest.ms, watch.elapsedMs())
    }
  } finally {
    thaw()
  }
  // It was asked, and given up.
  expect(hedgeCounts.won).toBeGreaterThan(won)
  expect(slowest.ms).toBeLessThan(1_000)
})
