// Proves batching: no call waits for a batch while few are in flight, and one that fails does not fail the others.
import { describe, expect, it } from 'vitest'
import { batched, leftOut } from './batcher.ts'

/** Work that ends when the test ends it. */
function harness() {
  const calls: string[][] = []
  const ends: Array<() => void> = []
  const ended = () => new Promise<void>((resolve) => ends.push(resolve))
  const refuse = (items: string[]) => {
    if (items.some((item) => item.startsWith('bad'))) throw new Error('bad')
    if (items.some((item) => item.startsWith('lost'))) throw new Error('lost')
  }
  const work = batched<string, string>({
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
  })
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
  return { work, calls, endAll }
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

  it('a batch is done one by one when one of it was refused, and only that one is refused', async () => {
    const { work, calls, endAll } = harness()
    const all = Promise.allSettled(['a', 'bad', 'b'].map((item) => work(item)))
    const outcomes = await endAll(all)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(calls).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']])
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
})
