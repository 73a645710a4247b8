// Shows which names and e-mail addresses count as the same.
import { describe, expect, it } from 'vitest'
import { foldEmail, foldName } from './fold.ts'

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

describe('e-mail addresses', () => {
  it('are the same whatever their case, but not without their accents', () => {
    expect(foldEmail('AMA@Example.com')).toBe('ama@example.com')
    expect(foldEmail('josé@example.com')).not.toBe(foldEmail('jose@example.com'))
  })
})
