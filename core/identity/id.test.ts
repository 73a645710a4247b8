// Proves the form and the fairness of ids and keys.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  base62,
  firstIdOf,
  idTimeMs,
  isUuid,
  newId,
  newKey,
  randomId,
  upperAlphanumeric,
} from './id.ts'

describe('newId', () => {
  it('newId is a UUID of version 7 whose first 48 bits are the time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (nowMs) => {
        const id = newId(nowMs)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(nowMs)
      }),
    )
  })

  it('newId sorts by time and differs within one millisecond', () => {
    expect(newId(1_700_000_000_000) < newId(1_700_000_000_001)).toBe(true)
    expect(new Set(Array.from({ length: 1000 }, () => newId(1))).size).toBe(1000)
  })
})

describe('isUuid', () => {
  it('isUuid accepts every UUID in either case', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(isUuid(id)).toBe(true)
        expect(isUuid(id.toUpperCase())).toBe(true)
      }),
    )
    expect(isUuid(newId())).toBe(true)
    expect(isUuid(randomId())).toBe(true)
    expect(isUuid('00000000-0000-0000-0000-000000000000')).toBe(true)
    expect(isUuid('FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF')).toBe(true)
  })

  it.each([
    '',
    'c232ab00941411ecb3c89f6bdeced846',
    '{c232ab00-9414-11ec-b3c8-9f6bdeced846}',
    'c232ab00-9414-11ec-b3c8-9f6bdeced84',
    'c232ab00-9414-11ec-b3c8-9f6bdeced846\n',
    'c232ab00-9414-11ec-b3c8-9f6bdeced84g',
  ])('isUuid refuses %j', (text) => {
    expect(isUuid(text)).toBe(false)
  })
})

describe('the time of an id', () => {
  it('the time of an id is read from it, and the first id of a time is below all others of it', () => {
    for (const ms of [1, 1_795_458_202_629, 2 ** 48 - 1]) {
      const id = newId(ms)
      expect(idTimeMs(id)).toBe(ms)
      expect(isUuid(firstIdOf(ms))).toBe(true)
      expect(firstIdOf(ms) < id).toBe(true)
      expect(newId(ms - 1) < firstIdOf(ms)).toBe(true)
    }
  })
})

describe('newKey', () => {
  it('newKey has the prefix and the length in all', () => {
    expect(newKey('pwk_test_', 32)).toMatch(/^pwk_test_[0-9A-Za-z]{23}$/)
    expect(newKey('', 32)).toMatch(/^[0-9A-Za-z]{32}$/)
    expect(newKey('PWBP-', 13, upperAlphanumeric)).toMatch(/^PWBP-[0-9A-Z]{8}$/)
  })

  it('newKey uses every character about equally often', () => {
    const counts = new Map<string, number>()
    for (const character of newKey('', 62_000)) {
      counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    expect([...counts.keys()].toSorted()).toEqual(base62.split('').toSorted())
    // 1000 expected, seven standard deviations allowed; a plain modulo would give eight of them 1211.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(210)
  })
})
