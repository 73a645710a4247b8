// Where a context is active and where it is not.

import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { currentContext, iterateWithContext, runDetached, runWithContext } from './context.ts'

const one = { requestId: 'one', traceparent: '' }
const two = { requestId: 'two', traceparent: '' }

describe('a context', () => {
  it('a context belongs to the work that was started in it, across waits', async () => {
    const seen = await Promise.all(
      [one, two].map((context) =>
        runWithContext(context, async () => {
          await turn()
          return currentContext()?.requestId
        }),
      ),
    )
    expect(seen).toEqual(['one', 'two'])
    expect(currentContext()).toBeUndefined()
  })

  it('a context is not inherited by detached work', () => {
    expect(runWithContext(one, () => runDetached(currentContext))).toBeUndefined()
  })

  it('a context is active in a generator, in any context of the consumer, and ends it', async () => {
    const seen: Array<string | undefined> = []
    async function* source() {
      try {
        for (;;) {
          seen.push(currentContext()?.requestId)
          yield seen.length
        }
      } finally {
        seen.push(`end ${currentContext()?.requestId}`)
      }
    }
    await runWithContext(two, async () => {
      for await (const count of iterateWithContext(one, source())) {
        expect(currentContext()?.requestId).toBe('two')
        if (count === 2) break
      }
    })
    expect(seen).toEqual(['one', 'one', 'end one'])
  })
})
