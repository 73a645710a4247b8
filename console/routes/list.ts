// What lists share: links to other pages of the list, filters by time, CSV files.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { FastifyReply } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency, parseAmount } from '#core/money/money.ts'
import type { Work } from '../http/work.ts'
import type { Field } from '../pages/blocks.ts'

/**
 * Links of a list: to the page after this one, and back to the first. Filters of the URL stay. `name` is the parameter of
 * the list's pages where a page shows several.
 */
export function nextPageUrl(url: string, nextPageToken: string, name = 'page') {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const isFirst = !searchParams.has(name)
  const link = () => {
    const query = searchParams.toString()
    return query === '' ? pathname : `${pathname}?${query}`
  }
  searchParams.delete(name)
  const firstUrl = isFirst ? undefined : link()
  searchParams.set(name, nextPageToken)
  return { firstUrl, nextUrl: nextPageToken === '' ? undefined : link() }
}

/** The UUID of a field of a form. Throws INVALID_PARAMETER for another text, before anything is written or called. */
export function formId(form: URLSearchParams, name: string): string {
  const id = form.get(name) ?? ''
  if (!isUuid(id)) throw invalid(name, 'must be an id')
  return id
}

/** Ids of bill payments; those of other things are UUIDs. */
export const billPattern = /^bill_\w{1,59}$/

/** An id of the query as services write it, in lower case; the empty text for none. Throws INVALID_PARAMETER for another text. */
export function idIn(query: URLSearchParams, name: string): string {
  const id = query.get(name) ?? ''
  if (id !== '' && !isUuid(id)) throw invalid(name, 'must be an id')
  return id.toLowerCase()
}

/** One of some words of the query; undefined for none. Throws INVALID_PARAMETER for another text. */
export function oneOf<W extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly W[],
): W | undefined {
  const given = query.get(name) ?? ''
  const found = words.find((word) => word === given)
  if (given !== '' && found === undefined) throw invalid(name, `must be ${words.join(' or ')}`)
  return found
}

/** The filter of lists by an institution, its name or id. */
export function institutionField(query: URLSearchParams, label = 'Institution'): Field {
  const value = query.get('institution') ?? ''
  return { label, name: 'institution', value, maxlength: 100 }
}

/** The institution that the query names: its name, or its id in lower case; the empty text for none. */
export function institutionIn(query: URLSearchParams): string {
  const named = query.get('institution') ?? ''
  return isUuid(named) ? named.toLowerCase() : named
}

/** Whether something is of the institution that the query names; everything is where it names none. */
export function isOfInstitution(
  query: URLSearchParams,
): (one: { institutionId: string; institutionName: string }) => boolean {
  const wanted = institutionIn(query)
  return ({ institutionId, institutionName }) =>
    wanted === '' || institutionId === wanted || institutionName === wanted
}

/** What a list says whose filters nothing matches. */
export function noneMatches(thing: string): string {
  return `No ${thing} matches. Change or remove a filter to see more.`
}

/** The first rows of a list that has no pages, and a note that says so where more follow. */
export function firstRows<T>(rows: T[], maxRows: number): { rows: T[]; cut: string } {
  const cut = rows.length > maxRows ? ` These are the first ${maxRows} of ${rows.length}.` : ''
  return { rows: rows.slice(0, maxRows), cut }
}

/**
 * The rows of a page of a list that its service answers whole; `begin` is the number of the first. Throws INVALID_PARAMETER for a text
 * that is no number.
 */
export function rowsAt<T>(
  rows: T[],
  begin: string | null,
  maxRows: number,
): { rows: T[]; nextPageToken: string } {
  if (!/^\d{0,6}$/.test(begin ?? '')) throw invalid('page', 'must be a number of a row')
  const next = Number(begin ?? '') + maxRows
  const nextPageToken = next < rows.length ? String(next) : ''
  return { rows: rows.slice(next - maxRows, next), nextPageToken }
}

/** The same filters at another path. */
export function withFilters(path: string, url: string): string {
  const { searchParams } = new URL(url, 'http://localhost')
  for (const name of ['page', 'notice']) searchParams.delete(name)
  return searchParams.size === 0 ? path : `${path}?${searchParams.toString()}`
}

/** A time of a `datetime-local` field, which is UTC; undefined for none. Throws INVALID_PARAMETER for another text. */
export function readTime(name: string, text: string | null) {
  if (text === null || text === '') return undefined
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text)
  const date = new Date(isTime ? `${text}Z` : Number.NaN)
  if (Number.isNaN(date.getTime())) throw invalid(name, 'must be a time')
  return timestampFromDate(date)
}

/** The fields of a list by time, `from` and `to`. */
export function timeFields(query: URLSearchParams): Field[] {
  const field = (label: string, name: string): Field => ({
    label,
    name,
    type: 'datetime-local',
    value: query.get(name) ?? '',
  })
  return [field('From (UTC)', 'from'), field('Until (UTC)', 'to')]
}

/** The times of these fields as RPCs of lists take them. Throws INVALID_PARAMETER for another text. */
export function timesIn(query: URLSearchParams) {
  const startTime = readTime('from', query.get('from'))
  const endTime = readTime('to', query.get('to'))
  return { ...(startTime && { startTime }), ...(endTime && { endTime }) }
}

/** A phone number in E.164, however it is grouped; empty for none. Throws INVALID_PARAMETER for another text. */
export function readNumber(name: string, given: string | null): string {
  if (given === null || given === '') return ''
  const digits = given.replaceAll(/[\s().-]/g, '')
  const number = digits.startsWith('+') ? digits : `+${digits}`
  if (!/^\+[1-9]\d{4,14}$/.test(number)) {
    throw invalid(name, 'must be a phone number with its country code')
  }
  return number
}

/**
 * The amount of a query with its currency; nothing for none. Throws INVALID_PARAMETER for one that the currency cannot have, and
 * for one without a currency.
 */
export function readAmount(query: URLSearchParams) {
  const amount = query.get('amount') ?? ''
  if (amount === '') return {}
  const currency = (query.get('currency') ?? '').toUpperCase()
  if (!isCurrency(currency)) throw invalid('currency', 'must be that of the amount, such as USD')
  try {
    return { amountMinor: parseAmount(amount, currency), currency }
  } catch (error) {
    if (error instanceof Failure) throw invalid('amount', error.message)
    throw error
  }
}

/** Lines of a page of a list, and the token of the page after it; the empty one ends the list. */
export type CsvPage = { rows: string[][]; nextPageToken: string }

/**
 * Answers with a whole list as a CSV file (RFC 4180), page after page as the reader takes them. Rejects as `read` does for the first
 * page; a file that fails later breaks off.
 */
export async function sendCsv(
  { reply, stream }: Work,
  name: string,
  head: string[],
  read: (pageToken: string) => Promise<CsvPage>,
): Promise<FastifyReply> {
  const first = await read('')
  async function* lines() {
    yield csvLine(head)
    let page = first
    yield page.rows.map(csvLine).join('')
    while (page.nextPageToken !== '') {
      page = await read(page.nextPageToken)
      yield page.rows.map(csvLine).join('')
    }
  }
  void reply.header('content-disposition', `attachment; filename="${name}.csv"`)
  return stream('text/csv; charset=utf-8', lines())
}

/** Pages of several lists, one list after the other, as those of one. */
export function chained(
  lists: readonly ((pageToken: string) => Promise<CsvPage>)[],
): (pageToken: string) => Promise<CsvPage> {
  return async (token) => {
    const [at = '0', pageToken = ''] = token.split(' ')
    const read = lists[Number(at)]
    if (read === undefined) return { rows: [], nextPageToken: '' }
    const page = await read(pageToken)
    if (page.nextPageToken !== '') return { ...page, nextPageToken: `${at} ${page.nextPageToken}` }
    const next = Number(at) + 1
    return { ...page, nextPageToken: next < lists.length ? `${next} ` : '' }
  }
}

/**
 * One line. A spreadsheet takes a cell that begins with one of these characters for a formula, so an apostrophe stands before it
 * (OWASP, CSV injection). A spreadsheet that separates cells by semicolons or tabs does not see our quotes, so an apostrophe also
 * stands where one of them, or a line break, begins a cell inside of the text. An amount below zero stays a number.
 */
export function csvLine(cells: readonly string[]): string {
  const safe = cells.map((cell) => {
    const isNumber = /^-?\d+(\.\d+)?$/.test(cell)
    const text = isNumber
      ? cell
      : cell.replaceAll(/(?:^|[;\t\r\n])[\p{Zs}"]*(?=[=+\-@|%])/gu, "$&'")
    return /[",;\t\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  })
  return `${safe.join(',')}\r\n`
}
