// What the cache of credentials remembers, for how long, and when it forgets.
import { beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors.ts'
import { type AnswerCache, answerCache } from './answer-cache.ts'

let nowMs: number
let loads: string[]
let hits: boolean[]
let cache: AnswerCache<string>
beforeEach(() => {
  nowMs = 0
  loads = []
  hits = []
  cache = answerCache<string>({
    lifeMs: () => 5_000,
    refusedLifeMs: ({ reason }) => (reason === 'PW_INVALID_API_KEY' ? 1_000 : 0),
    maxEntries: 2,
    onLookup: (hit) => hits.push(hit),
    nowMs: () => nowMs,
  })
})

const ask = (key: string) =>
  cache.get(key, () => {
    loads.push(key)
    return Promise.resolve(`answer to ${key}`)
  })
const refuse = (key: string, reason: 'PW_INVALID_API_KEY' | 'SERVICE_UNAVAILABLE') =>
  new Promise<string>((resolve) => {
    resolve(
      cache.get(key, () => {
        loads.push(key)
        return Promise.reject(new Failure(reason, 'no'))
      }),
    )
  })

describe('an answer', () => {
  it('is used for its life and asked for again at its end', async () => {
    expect(await ask('a')).toBe('answer to a')
    nowMs = 4_999
    expect(ask('a')).toBe('answer to a')
    nowMs = 5_000
    await ask('a')
    expect(loads).toEqual(['a', 'a'])
    expect(hits).toEqual([false, true, false])
  })

  it('is asked for once by all who wait for it', async () => {
    expect(await Promise.all([ask('a'), ask('a'), ask('a')])).toEqual(Array(3).fill('answer to a'))
    expect(loads).toEqual(['a'])
  })

  it('that is the oldest goes when there are too many', async () => {
    for (const key of ['a', 'b', 'c', 'b', 'a']) await ask(key)
    expect(loads).toEqual(['a', 'b', 'c', 'a'])
  })
})

describe('a refusal', () => {
  it('of the key is remembered for its own, shorter life', async () => {
    await expect(refuse('a', 'PW_INVALID_API_KEY')).rejects.toThrow('no')
    await expect(refuse('a', 'PW_INVALID_API_KEY')).rejects.toThrow('no')
    nowMs = 1_000
    expect(await ask('a')).toBe('answer to a')
    expect(loads).toEqual(['a', 'a'])
  })

  it('that says nothing about the key is not remembered', async () => {
    await expect(refuse('a', 'SERVICE_UNAVAILABLE')).rejects.toThrow('no')
    expect(await ask('a')).toBe('answer to a')
  })

  it('does not bring an expired answer back', async () => {
    await ask('a')
    nowMs = 5_000
    await expect(refuse('a', 'SERVICE_UNAVAILABLE')).rejects.toThrow('no')
  })
})

describe('dropping', () => {
  it('forgets every answer', async () => {
    await ask('a')
    cache.drop()
    await ask('a')
    expect(loads).toEqual(['a', 'a'])
  })

  it('forgets what is being asked, so that nobody gets an answer from before', async () => {
    const before = Promise.withResolvers<string>()
    const first = cache.get('a', () => before.promise)
    cache.drop()
    expect(await ask('a')).toBe('answer to a')
    before.resolve('from before')
    expect(await first).toBe('from before')
    expect(ask('a')).toBe('answer to a')
    expect(loads).toEqual(['a'])
  })
})
