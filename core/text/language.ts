// The languages of the pages that payers see: negotiation, direction, and amounts and times as their readers write them.
import { formatAmount } from '../money/money.ts'

/** A language by its BCP 47 tag. */
export type Language = 'en' | 'es' | 'fr' | 'pt-PT' | 'pt-BR' | 'ar'

/** Every language, in the order in which a page offers them. */
export const languageCodes: readonly Language[] = ['en', 'es', 'fr', 'pt-PT', 'pt-BR', 'ar']

const maxHeaderLength = 500
/** Regions that write Portuguese as Portugal does; `pt` alone is Brazil's, as in Unicode's CLDR. */
const likePortugal = new Set(['pt', 'ao', 'ch', 'cv', 'gq', 'gw', 'lu', 'mo', 'mz', 'st', 'tl'])

/** Which way a language is read. */
export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === 'ar' ? 'rtl' : 'ltr'
}

/** The language of a tag such as `fr-CA`; undefined when we have none. */
export function languageOfTag(tag: string): Language | undefined {
  const [primary, ...rest] = tag.trim().toLowerCase().split('-')
  if (primary === 'pt') return rest.some((part) => likePortugal.has(part)) ? 'pt-PT' : 'pt-BR'
  return languageCodes.find((code) => code === primary)
}

/** The language with the highest weight in an `Accept-Language` header, the first of equals; undefined without one. */
export function preferredLanguage(header: string | undefined): Language | undefined {
  let best: { language: Language; weight: number } | undefined
  for (const range of (header ?? '').slice(0, maxHeaderLength).split(',')) {
    const [tag = '', parameter = 'q=1'] = range.split(';')
    const language = languageOfTag(tag)
    const weight = Number(/^\s*q=([01](?:\.\d{1,3})?)\s*$/i.exec(parameter)?.[1] ?? 0)
    if (language !== undefined && weight > (best?.weight ?? 0)) best = { language, weight }
  }
  return best?.language
}

/** The tag that `Intl` takes. Arabic has Western digits, as on cards. */
function localeOf(language: Language): string {
  return language === 'ar' ? 'ar-u-nu-latn' : language
}

/** An amount in minor units as a reader writes it, exact and with all decimals of its currency: "1,250.00". */
export function localAmount(minor: bigint, currency: string, language: Language): string {
  const exact = formatAmount(minor, currency)
  const decimals = exact.split('.')[1]?.length ?? 0
  return new Intl.NumberFormat(localeOf(language), {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(exact as `${number}`)
}

/** An amount with its currency's code: "1,250.00 USD". */
export function localMoney(minor: bigint, currency: string, language: Language): string {
  return `${localAmount(minor, currency, language)} ${currency}`
}

/** A moment as a reader writes it, in UTC: "Nov 23, 2026, 10:04 UTC". */
export function localTime(time: Date, language: Language): string {
  const format = new Intl.DateTimeFormat(localeOf(language), {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
  return `${format.format(time)} UTC`
}
