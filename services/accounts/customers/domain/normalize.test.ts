// Shows which names count as the same.
import { describe, expect, it } from 'vitest'
import { normalizeName } from './normalize.ts'

describe('names', () => {
  it.each([
    ['José', 'JOSE'],
    ['Jose\u0301', 'José'],
    ['Zoë  van  Dyk', ' zoe van dyk '],
    ['İpek', 'ipek'],
    ['Ｋｏｆｉ', 'kofi'],
  ])('the names %s and %s are the same', (one, other) => {
    expect(normalizeName(one)).toBe(normalizeName(other))
  })

  it.each([
    ['Ama', 'Amma'],
    ['Esi Owusu', 'EsiOwusu'],
    ['', 'A'],
  ])('the names %s and %s are not the same', (one, other) => {
    expect(normalizeName(one)).not.toBe(normalizeName(other))
  })
})
