// Proves batching: no call waits for a batch while few are in flight, and one that fails does not fail the others.
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { currentContext, runWithContext } from '../rpc/context.ts'
import { type Batching, batched, leftOut } from './batcher.ts'

/** Work that ends when the test ends it. */
function harness(more: Partial<Batching<string, string>> = {}) {
  const calls: string[][] = []
  const ends: Array<() => void> = []
  const ended = () => new Promise<void>((resolve) => ends.push(resolve))
  const refuse = (items: string[]) => {
    if (items.some((item) => item.startsWith('bad'))) throw new Error('bad')
    if (items.some((item) => item.startsWith('lost'))) throw new Error('lost')
  }
  const batching: Batching<string, string> = {
    maxInFlight: 2,
    maxBatchSize: 3,
    isOfOne: (error) => error instanceof Error && error.message === 'bad',
    async alone(item) {
      calls.push([item])
      await ended()
      refuse([item])
      return item.toUpperCase()
    },
    async together(items) {
      calls.push(items)
      await ended()
      refuse(items)
      return items.map((item) => (item.startsWith('left') ? leftOut : item.toUpperCase()))
    },
    ...more,
  }
  const work = batched(batching)
  /** Ends what is under way, again and again, until all have an answer. */
  async function endAll<T>(all: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const over = all.finally(() => {
      state.isOver = true
    })
    while (!state.isOver) {
      for (const end of ends.splice(0)) end()
      await new Promise(setImmediate)
    }
    return await over
  }
  return { batching, work, calls, endAll }
}

describe('work in groups', () => {
  it('a call is batched with those of its turn while few are in flight, then with all that wait, up to a size', async () => {
    const { work, calls, endAll } = harness()
    const first = ['a', 'b'].map((item) => work(item))
    await new Promise(setImmediate)
    expect(calls).toEqual([['a', 'b']])
    const second = work('c')
    await new Promise(setImmediate)
    expect(calls).toEqual([['a', 'b'], ['c']])
    const third = ['d', 'e', 'f', 'g'].map((item) => work(item))
    await new Promise(setImmediate)
    expect(calls).toHaveLength(2)
    const all = Promise.all([...first, second, ...third])
    expect(await endAll(all)).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G'])
    expect(calls.slice(2)).toEqual([['d', 'e', 'f'], ['g']])
  })

  it('a batch is done in halves when one of it was refused, and only that one is refused', async () => {
    const { work, calls, endAll } = harness()
    const all = Promise.allSettled(['a', 'bad', 'b'].map((item) => work(item)))
    const outcomes = await endAll(all)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(calls).toEqual([['a', 'bad', 'b'], ['a', 'bad'], ['a'], ['bad'], ['b']])
  })

  it('an item that a batch left out is done alone, and the others are not', async () => {
    const { work, calls, endAll } = harness()
    const all = ['a', 'left b', 'c'].map((item) => work(item))
    expect(await endAll(Promise.all(all))).toEqual(['A', 'LEFT B', 'C'])
    expect(calls).toEqual([['a', 'left b', 'c'], ['left b']])
  })

  it('a batch fails as a whole when its outcome is unknown', async () => {
    const { work, calls, endAll } = harness()
    const all = Promise.allSettled(['a', 'lost', 'b'].map((item) => work(item)))
    const outcomes = await endAll(all)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(3)
    expect(calls).toEqual([['a', 'lost', 'b']])
  })

  it('an item that waits alone, from a batch of one or of many, holds up no batch', async () => {
    const { batching, calls, endAll } = harness()
    const waits = Promise.withResolvers<string>()
    const work = batched<string, string>({
      ...batching,
      aloneWaits: true,
      alone: () => waits.promise,
    })
    const left = [work('left a')]
    await endAll(new Promise(setImmediate))
    left.push(...['left b', 'left c'].map((item) => work(item)))
    expect(await endAll(Promise.all([work('d'), work('e')]))).toEqual(['D', 'E'])
    expect(calls).toEqual([['left a'], ['left b', 'left c', 'd'], ['e']])
    waits.resolve('alone')
    expect(await Promise.all(left)).toEqual(['alone', 'alone', 'alone'])
  })

  it('an item that waited too long to be begun is refused, and those after it are processed', async () => {
    const clock = { ms: 0 }
    const { work, calls, endAll } = harness({ nowMs: () => clock.ms })
    const begun = [work('a')]
    await new Promise(setImmediate)
    begun.push(work('b'))
    await new Promise(setImmediate)
    const late = work('late')
    clock.ms = 3_001
    const fresh = work('c')
    const outcomes = await endAll(Promise.allSettled([...begun, late, fresh]))
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    await expect(late).rejects.toMatchObject({ reason: 'TIMEOUT' })
    expect(calls).toEqual([['a'], ['b'], ['c']])
  })

  it('a batch runs in the context of none of its calls', async () => {
    const seen: unknown[] = []
    const { work } = harness({
      together: (items) => {
        seen.push(currentContext())
        return Promise.resolve(items)
      },
    })
    await Promise.all(
      ['a', 'b'].map((requestId) =>
        runWithContext({ requestId, traceparent: '' }, () => work(requestId)),
      ),
    )
    expect(seen).toEqual([undefined])
  })

  it('an item is refused when too many wait', async () => {
    const { work, endAll } = harness({ maxBatchSize: 5_000 })
    const all = Promise.allSettled(Array.from({ length: 10_001 }, () => work('a')))
    const outcomes = await endAll(all)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10_000)
    const last = outcomes.at(-1)
    expect(last?.status === 'rejected' && (last.reason as Failure).reason).toBe('SERVER_OVERLOADED')
  })
})
