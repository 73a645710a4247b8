// Chooses the language of a hosted page and fills in its sentences.
import type { FastifyRequest } from 'fastify'
import { ar } from './messages/ar.ts'
import { en, type Messages } from './messages/en.ts'
import { es } from './messages/es.ts'
import { fr } from './messages/fr.ts'
import { pt } from './messages/pt.ts'

/** The languages of the pages, in the order in which a page offers them. */
export const languages = { en, fr, es, pt, ar } as const satisfies Record<string, Messages>

/** A language by its ISO 639-1 code. */
export type Language = keyof typeof languages

/** Every code. */
export const languageCodes = Object.keys(languages) as Language[]

const maxHeaderLength = 500

/** Which way a language is read. */
export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr'
}

/** Fills the places of a sentence, `{name}`. */
export function fill(sentence: string, values: Record<string, string>): string {
  return sentence.replaceAll(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place)
}

/** `chosen` is what the payer asked for by `?lang`; it is passed from page to page. */
export type LanguageChoice = { language: Language; chosen: Language | undefined }

/** The language of an answer: `?lang`, else what the browser prefers, else English. */
export function languageOf({ query, headers }: FastifyRequest): LanguageChoice {
  const { lang } = (query ?? {}) as Record<string, unknown>
  const chosen = typeof lang === 'string' ? knownLanguage(lang) : undefined
  return { language: chosen ?? preferred(headers['accept-language']) ?? 'en', chosen }
}

/** A tag such as `pt-BR` counts as its language. */
function knownLanguage(tag: string): Language | undefined {
  const [primary] = tag.trim().toLowerCase().split('-')
  return languageCodes.find((code) => code === primary)
}

/** The known language with the highest weight, the first of equals. */
function preferred(header: string | undefined): Language | undefined {
  let best: { language: Language; weight: number } | undefined
  for (const range of (header ?? '').slice(0, maxHeaderLength).split(',')) {
    const [tag = '', parameter = 'q=1'] = range.split(';')
    const language = knownLanguage(tag)
    const weight = Number(/^\s*q=([01](?:\.\d{1,3})?)\s*$/i.exec(parameter)?.[1] ?? 0)
    if (language !== undefined && weight > (best?.weight ?? 0)) best = { language, weight }
  }
  return best?.language
}
