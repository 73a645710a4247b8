// Shows which names count as the same.
import { describe, expect, it } from 'vitest'
import { foldName } from './fold.ts'

describe('names', () => {
  it.each([
    ['José', 'JOSE'],
    ['Jose\u0301', 'José'],
    ['Zoë  van  Dyk', ' zoe van dyk '],
    ['İpek', 'ipek'],
    ['Ｋｏｆｉ', 'kofi'],
  ])('%s and %s are the same', (one, other) => {
    expect(foldName(one)).toBe(foldName(other))
  })

  it.each([
    ['Ama', 'Amma'],
    ['Esi Owusu', 'EsiOwusu'],
    ['', 'A'],
  ])('%s and %s are not', (one, other) => {
    expect(foldName(one)).not.toBe(foldName(other))
  })
})
