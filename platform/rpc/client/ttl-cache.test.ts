// Tests what the cache of credentials keeps, for how long, and when it drops it.
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { type Lookup, type TtlCache, ttlCache } from './ttl-cache.ts'

let nowMs: number
let loads: string[]
let hits: Lookup[]
let cache: TtlCache<string>
beforeEach(() => {
  nowMs = 0
  loads = []
  hits = []
  cache = ttlCache<string>({
    ttlMs: () => 5_000,
    refusedTtlMs: ({ reason }) => (reason === 'PW_INVALID_API_KEY' ? 1_000 : 0),
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
  it('an answer is used for its TTL and then loaded again', async () => {
    expect(await ask('a')).toBe('answer to a')
    nowMs = 4_999
    expect(ask('a')).toBe('answer to a')
    nowMs = 5_000
    await ask('a')
    expect(loads).toEqual(['a', 'a'])
    expect(hits).toEqual(['miss', 'hit', 'miss'])
  })

  it('an answer is loaded once for concurrent callers', async () => {
    expect(await Promise.all([ask('a'), ask('a'), ask('a')])).toEqual(Array(3).fill('answer to a'))
    expect(loads).toEqual(['a'])
  })

  it('an answer that is the oldest goes when there are too many', async () => {
    for (const key of ['a', 'b', 'c', 'b', 'a']) await ask(key)
    expect(loads).toEqual(['a', 'b', 'c', 'a'])
  })
})

describe('a refusal', () => {
  it('a refusal of the key is cached for its own, shorter TTL', async () => {
    await expect(refuse('a', 'PW_INVALID_API_KEY')).rejects.toThrow('no')
    await expect(refuse('a', 'PW_INVALID_API_KEY')).rejects.toThrow('no')
    nowMs = 1_000
    expect(await ask('a')).toBe('answer to a')
    expect(loads).toEqual(['a', 'a'])
  })

  it('a refusal takes no room from answers, and is the oldest to go when there are too many', async () => {
    await ask('a')
    await ask('b')
    for (let index = 0; index <= 1_000; index += 1) {
      await expect(refuse(`wrong ${index}`, 'PW_INVALID_API_KEY')).rejects.toThrow('no')
    }
    expect([ask('a'), ask('b')]).toEqual(['answer to a', 'answer to b'])
    expect(() => ask('wrong 1')).toThrow('no')
    expect(await ask('wrong 0')).toBe('answer to wrong 0')
  })

  it('a refusal that says nothing about the key is not cached', async () => {
    await expect(refuse('a', 'SERVICE_UNAVAILABLE')).rejects.toThrow('no')
    expect(await ask('a')).toBe('answer to a')
  })

  it('a refusal does not bring an expired cached answer back', async () => {
    await ask('a')
    nowMs = 5_000
    await expect(refuse('a', 'SERVICE_UNAVAILABLE')).rejects.toThrow('no')
  })
})

describe('dropping', () => {
  it('a drop forgets every cached answer', async () => {
    await ask('a')
    cache.drop()
    await ask('a')
    expect(loads).toEqual(['a', 'a'])
  })

  it('a drop of what is affected keeps the other answers, and forgets refusals', async () => {
    const isAffected = (key: string, answer: string) => key === 'b' && answer === 'answer to b'
    await ask('a')
    await ask('b')
    cache.drop(isAffected)
    expect([ask('a'), await ask('b')]).toEqual(['answer to a', 'answer to b'])
    expect(loads).toEqual(['a', 'b', 'b'])
    await expect(refuse('c', 'PW_INVALID_API_KEY')).rejects.toThrow('no')
    cache.drop(isAffected)
    expect(await ask('c')).toBe('answer to c')
  })

  it('a drop discards loads in flight, so that no caller gets an answer from before', async () => {
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

describe('an answer past its TTL', () => {
  let isSubscribed: boolean
  let stale: TtlCache<string>
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    isSubscribed = true
    stale = ttlCache<string>({
      ttlMs: () => 5_000,
      staleIfErrorMs: (answer) => (answer === 'no' ? 0 : 30_000),
      isSubscribed: () => isSubscribed,
      refusedTtlMs: ({ reason }) => (reason === 'PW_INVALID_API_KEY' ? 1_000 : 0),
      maxEntries: 2,
      onLookup: (outcome) => hits.push(outcome),
      nowMs: () => nowMs,
    })
    await stale.get('a', () => Promise.resolve('old'))
    nowMs = 5_000
    hits = []
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const failing = (reason: Reason) => () => {
    loads.push(reason)
    return Promise.reject(new Failure(reason, 'no'))
  }
  const slow = () => {
    const answer = Promise.withResolvers<string>()
    const asked = stale.get('a', () => {
      loads.push('slow')
      return answer.promise
    })
    return { ...answer, asked }
  }

  it('an answer past its TTL is replaced by a new one that comes soon', async () => {
    expect(await stale.get('a', () => Promise.resolve('new'))).toBe('new')
    expect(hits).toEqual(['miss'])
  })

  it('an answer past its TTL is used when the new one takes longer than 100 ms, which then replaces it', async () => {
    const { asked, resolve } = slow()
    vi.advanceTimersByTime(100)
    expect(await asked).toBe('old')
    expect(await slow().asked).toBe('old')
    resolve('new')
    await turn()
    expect(stale.get('a', failing('TIMEOUT'))).toBe('new')
    expect(loads).toEqual(['slow'])
    expect(hits).toEqual(['stale', 'stale', 'hit'])
  })

  it.each<Reason>(['SERVICE_UNAVAILABLE', 'TIMEOUT'])(
    'an answer past its TTL is used for 30 s while asking ends in %s, once a second',
    async (reason) => {
      expect(await stale.get('a', failing(reason))).toBe('old')
      nowMs = 5_999
      expect(await stale.get('a', failing(reason))).toBe('old')
      expect(loads).toEqual([reason])
      nowMs = 34_999
      expect(await stale.get('a', failing(reason))).toBe('old')
      expect(loads).toEqual([reason, reason])
      nowMs = 35_000
      await expect(stale.get('a', failing(reason))).rejects.toMatchObject({ reason })
    },
  )

  it.each<Reason>(['PW_INVALID_API_KEY', 'INTERNAL_ERROR'])(
    'an answer past its TTL is forgotten at %s',
    async (reason) => {
      await expect(stale.get('a', failing(reason))).rejects.toMatchObject({ reason })
      nowMs = 7_000
      await expect(stale.get('a', failing('TIMEOUT'))).rejects.toMatchObject({ reason: 'TIMEOUT' })
    },
  )

  it('an answer past its TTL is refused from then on when a late answer refuses', async () => {
    const { asked, reject } = slow()
    vi.advanceTimersByTime(100)
    expect(await asked).toBe('old')
    reject(new Failure('PW_INVALID_API_KEY', 'revoked'))
    await turn()
    expect(() => stale.get('a', failing('TIMEOUT'))).toThrow('revoked')
  })

  it('an answer past its TTL is never used after a drop, not even by callers that wait already', async () => {
    const { asked, reject } = slow()
    stale.drop()
    vi.advanceTimersByTime(100)
    reject(new Failure('TIMEOUT', 'no'))
    await expect(asked).rejects.toMatchObject({ reason: 'TIMEOUT' })
    await expect(stale.get('a', failing('TIMEOUT'))).rejects.toMatchObject({ reason: 'TIMEOUT' })
  })

  it('an answer past its TTL is never used while drops may be missed', async () => {
    isSubscribed = false
    await expect(stale.get('a', failing('TIMEOUT'))).rejects.toMatchObject({ reason: 'TIMEOUT' })
    isSubscribed = true
    nowMs = 6_000
    const { asked, reject } = slow()
    isSubscribed = false
    vi.advanceTimersByTime(100)
    reject(new Failure('TIMEOUT', 'no'))
    await expect(asked).rejects.toMatchObject({ reason: 'TIMEOUT' })
  })

  it('an answer past its TTL is never used when it may not be kept', async () => {
    await stale.get('b', () => Promise.resolve('no'))
    nowMs = 10_000
    await expect(stale.get('b', failing('TIMEOUT'))).rejects.toMatchObject({ reason: 'TIMEOUT' })
  })
})
