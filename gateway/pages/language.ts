// Chooses the language of a hosted page and fills in its sentences.
import type { FastifyRequest } from 'fastify'
import { type Language, languageOfTag, preferredLanguage } from '#core/text/language.ts'
import { ar } from './messages/ar.ts'
import { en, type Messages } from './messages/en.ts'
import { es } from './messages/es.ts'
import { fr } from './messages/fr.ts'
import { ptBr } from './messages/pt-br.ts'
import { ptPt } from './messages/pt-pt.ts'

/** The texts of each language. */
export const languages: Readonly<Record<Language, Messages>> = {
  en,
  es,
  fr,
  'pt-PT': ptPt,
  'pt-BR': ptBr,
  ar,
}

/** Fills the placeholders of a sentence, `{name}`. */
export function fill(sentence: string, values: Record<string, string>): string {
  return sentence.replaceAll(
    /\{(\w+)\}/g,
    (placeholder, name: string) => values[name] ?? placeholder,
  )
}

/** `chosen` is what the payer asked for by `?lang`; it is passed from page to page. */
export type LanguageChoice = { language: Language; chosen: Language | undefined }

/** The language of an answer: `?lang`, else what the browser prefers, else English. */
export function languageOf({ query, headers }: FastifyRequest): LanguageChoice {
  const { lang } = (query ?? {}) as Record<string, unknown>
  const chosen = typeof lang === 'string' ? languageOfTag(lang) : undefined
  return { language: chosen ?? preferredLanguage(headers['accept-language']) ?? 'en', chosen }
}
