// Tests which language a reader gets, and that amounts stay exact in each.
import { describe, expect, it } from 'vitest'
import {
  languageCodes,
  languageOfTag,
  localAmount,
  localMoney,
  localTime,
  preferredLanguage,
} from './language.ts'

describe('the language of a reader', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['fr', 'fr'],
    ['pt-BR,pt;q=0.9,en;q=0.8', 'pt-BR'],
    ['pt-PT,pt;q=0.9', 'pt-PT'],
    ['pt-AO', 'pt-PT'],
    ['pt', 'pt-BR'],
    ['de, nl;q=0.9, es;q=0.5, fr;q=0.7', 'fr'],
    ['ar;q=0, en', 'en'],
    ['*', undefined],
    ['fr;q=2, es;q=x, ;;;,', undefined],
    [`${'x,'.repeat(10_000)}fr`, undefined],
  ])('the language of a reader is what their browser prefers: %s', (accepted, language) => {
    expect(preferredLanguage(accepted)).toBe(language)
  })

  it('every language is found by its own tag, in any case', () => {
    for (const code of languageCodes) {
      expect(languageOfTag(code)).toBe(code)
      expect(languageOfTag(code.toUpperCase())).toBe(code)
    }
    expect(languageOfTag('constructor')).toBeUndefined()
  })
})

describe('amounts and times', () => {
  it.each([
    ['en', '1,250,000.50'],
    ['es', '1.250.000,50'],
    ['fr', '1\u202f250\u202f000,50'],
    ['pt-PT', '1\u00a0250\u00a0000,50'],
    ['pt-BR', '1.250.000,50'],
    ['ar', '1,250,000.50'],
  ] as const)('an amount in %s is grouped as its readers group it', (language, text) => {
    expect(localAmount(125_000_050n, 'USD', language)).toBe(text)
  })

  it('an amount beyond 2^53 stays exact', () => {
    expect(localMoney(9_007_199_254_740_993n, 'JPY', 'en')).toBe('9,007,199,254,740,993 JPY')
    expect(localMoney(9_007_199_254_740_993n, 'BHD', 'ar')).toBe('9,007,199,254,740.993 BHD')
  })

  it('a time names its zone', () => {
    expect(localTime(new Date('2026-11-23T10:04:33Z'), 'fr')).toBe('23 nov. 2026, 10:04 UTC')
  })
})
