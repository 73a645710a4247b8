// Tests that every language has every text, and which one a payer gets.
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { directionOf, languageCodes } from '#core/text/language.ts'
import { fill, languageOf, languages } from './language.ts'

const placeholdersOf = (sentence: string) => (sentence.match(/\{\w+\}/g) ?? []).toSorted()

describe('the messages', () => {
  it.each(languageCodes)('the messages say in %s all that they say in English', (code) => {
    expect(Object.keys(languages[code])).toEqual(Object.keys(languages.en))
    for (const [key, sentence] of Object.entries(languages[code])) {
      expect(sentence.trim(), key).not.toBe('')
      expect(placeholdersOf(sentence), key).toEqual(placeholdersOf(languages.en[key as 'pay']))
    }
  })

  it('the messages are translated', () => {
    const same = ['fee', 'total', 'languageName']
    for (const code of languageCodes.filter((other) => other !== 'en')) {
      const untranslated = Object.entries(languages[code])
        .filter(([key, sentence]) => sentence === languages.en[key as 'pay'])
        .map(([key]) => key)
      expect(same, code).toEqual(expect.arrayContaining(untranslated))
    }
  })

  it('the messages keep what is filled into Arabic in its own direction', () => {
    expect(directionOf('ar')).toBe('rtl')
    for (const sentence of Object.values(languages.ar)) {
      for (const placeholder of placeholdersOf(sentence))
        expect(sentence).toContain(`\u2068${placeholder}\u2069`)
    }
  })

  it('the messages show a value as it is', () => {
    expect(fill('Pay {total} {other}', { total: '$& 1.00' })).toBe('Pay $& 1.00 {other}')
  })
})

describe('the language of a page', () => {
  const chosen = (lang: unknown, accepted?: string) =>
    languageOf({
      query: { lang },
      headers: { 'accept-language': accepted },
    } as unknown as FastifyRequest)

  it('the language of a page is what the browser prefers, else English', () => {
    expect(chosen(undefined, 'pt-BR,en;q=0.8')).toEqual({ language: 'pt-BR', chosen: undefined })
    expect(chosen(undefined, 'xx')).toEqual({ language: 'en', chosen: undefined })
  })

  it('the language of a page is what the payer chose, if we have it', () => {
    expect(chosen('ar', 'fr')).toEqual({ language: 'ar', chosen: 'ar' })
    expect(chosen('PT-pt', 'fr')).toEqual({ language: 'pt-PT', chosen: 'pt-PT' })
    for (const unknown of ['xx', '', ['ar', 'fr'], '"><script>', 'constructor']) {
      expect(chosen(unknown, 'fr')).toEqual({ language: 'fr', chosen: undefined })
    }
  })
})
