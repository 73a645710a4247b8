// Tests the one way in which tests wait: what ends a wait, what it returns, and what it reports when it ends in vain.
import { expect, it } from 'vitest'
import { eventually } from './eventually.ts'

/** Returns these one after the other, the last one again and again. */
function series<T>(...values: T[]): () => T {
  let next = 0
  return () => values[Math.min(next++, values.length - 1)] as T
}

it('eventually returns the first value that is not false', async () => {
  const look = series<string | false>(false, false, 'found', 'later')
  expect(await eventually(look)).toBe('found')
  const isThere = series(false, true)
  expect(await eventually(async () => isThere())).toBe(true)
})

it('eventually looks again after a look that throws', async () => {
  const count = series(1, 2, 3)
  await eventually(() => expect(count()).toBe(3))
  const broken = series(true, false)
  const look = async () => {
    if (broken()) throw new Error('not yet')
    return undefined
  }
  expect(await eventually(look)).toBeUndefined()
})

it('eventually reads until the check holds, and returns what it checked', async () => {
  const read = series(1, 2, 3, 4)
  expect(await eventually(read, (value) => expect(value).toBeGreaterThan(2))).toBe(3)
  const running = series(true, false)
  expect(await eventually(running, (value) => expect(value).toBe(false))).toBe(false)
})

it('eventually fails with the last failure, once its limit has passed', async () => {
  const read = series('first', 'last')
  await expect(eventually(() => expect(read()).toBe('never'), 100)).rejects.toThrow(
    "expected 'last' to be 'never'",
  )
  await expect(eventually(read, (value) => expect(value).toBe('no'), 100)).rejects.toThrow(
    "expected 'last' to be 'no'",
  )
  await expect(eventually(() => false, 100)).rejects.toThrow('not within 100 ms: () => false')
})

it('eventually does not count a standstill of its process', async () => {
  let looks = 0
  const look = () => {
    looks += 1
    if (looks === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)
    return looks > 3
  }
  expect(await eventually(look, 1_000)).toBe(true)
})
