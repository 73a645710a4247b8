// Proves who works together: nobody waits while few are under way, and one that fails does not fail the others.
import { describe, expect, it } from 'vitest'
import { grouped } from './grouping.ts'

/** Work that ends when it is told to. */
function world() {
  const calls: string[][] = []
  const ends: Array<() => void> = []
  const ended = () => new Promise<void>((resolve) => ends.push(resolve))
  const refuse = (items: string[]) => {
    if (items.some((item) => item.startsWith('bad'))) throw new Error('bad')
    if (items.some((item) => item.startsWith('lost'))) throw new Error('lost')
  }
  const work = grouped<string, string>({
    mostUnderWay: 2,
    mostInGroup: 3,
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
      return items.map((item) => item.toUpperCase())
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
  it('goes at once while few are under way, then with all who wait, up to a size', async () => {
    const { work, calls, endAll } = world()
    const all = Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((item) => work(item)))
    expect(calls).toEqual([['a'], ['b']])
    expect(await endAll(all)).toEqual(['A', 'B', 'C', 'D', 'E', 'F'])
    expect(calls).toEqual([['a'], ['b'], ['c', 'd', 'e'], ['f']])
  })

  it('is done one by one when one of a group was refused, and only that one is', async () => {
    const { work, calls, endAll } = world()
    const all = Promise.allSettled(['a', 'b', 'c', 'bad', 'd'].map((item) => work(item)))
    const outcomes = await endAll(all)
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(calls.slice(2)).toEqual([['c', 'bad', 'd'], ['c'], ['bad'], ['d']])
  })

  it('fails for all of a group when nobody knows what became of it', async () => {
    const { work, calls, endAll } = world()
    const all = Promise.allSettled(['a', 'b', 'c', 'lost', 'd'].map((item) => work(item)))
    const outcomes = await endAll(all)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(3)
    expect(calls).toHaveLength(3)
  })
})
