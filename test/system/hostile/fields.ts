// The fields of a good request, and how a request gets a hostile value in each of them.
import { formOf, partOf } from '../accounts/account-client.ts'
import type { CallOptions, Json } from '../harness.ts'
import type { Form, GoodRequest, Route } from './requests.ts'
import { jsonValues, texts } from './values.ts'

/** One field of a route. */
export type Field = {
  /** As `documented.ts` writes it, but with the numbers of list items. */
  path: string
  values: readonly string[]
  /** How many times fewer values of it a run without HOSTILE_SHARE sends: the edge reads it alike for all routes. */
  rarity: number
  put: (request: GoodRequest, value: string) => CallOptions
}

/** Headers that any route may read. */
const headers = [
  'PW-subscription-key',
  'PW-origin-country',
  'PW-request-date',
  'PW-ip-address',
  'User-Agent',
  'PW-request-id',
  'Idempotency-Key',
  'Accept',
]
const seldom = 5

/** Texts as the bytes of a header; a client cannot send the control characters in one. */
const headerTexts = texts
  .map((text) => Buffer.from(text).toString('latin1'))
  .filter((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text))

/** The fields of a request: its headers, its query parameters, each place of its body or each part of its form. */
export function fieldsOf({ absent = [], only }: Route, request: GoodRequest): Field[] {
  const { body, query } = request.options
  const names = body === undefined ? headers : [...headers, 'Content-Type']
  const isQueried = body === undefined
  const parameters = [...Object.keys(query ?? {}), ...(isQueried ? absent : [])]
  const missing = isQueried ? [] : absent.map((path) => path.split('.'))
  const inBody =
    request.form === undefined
      ? [...placesOf(body, []), ...missing].map(bodyField)
      : formFields(request.form)
  const all = [...parameters.map(queryField), ...inBody, ...names.map(headerField)]
  return all.filter(({ path }) => only === undefined || only.test(path))
}

function headerField(name: string): Field {
  return {
    path: `header ${name}`,
    values: headerTexts,
    rarity: seldom,
    put: ({ options }, value) => ({ ...options, headers: { ...options.headers, [name]: value } }),
  }
}

function queryField(name: string): Field {
  return {
    path: `query ${name}`,
    values: texts,
    rarity: 1,
    put: ({ options }, value) => ({ ...options, query: { ...options.query, [name]: value } }),
  }
}

const mark = '\u0001hostile\u0001'

function bodyField(place: string[]): Field {
  return {
    path: place.join('.'),
    values: jsonValues,
    rarity: 1,
    put: ({ options }, value) => ({
      ...options,
      body: JSON.stringify(withMark(options.body, place)).replace(
        JSON.stringify(mark),
        () => value,
      ),
    }),
  }
}

/** The path of every value inside a body, objects and lists too. */
function placesOf(value: unknown, at: string[]): string[][] {
  const inside =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, item]) => placesOf(item, [...at, name]))
      : []
  return at.length === 0 ? inside : [at, ...inside]
}

function withMark(value: unknown, [name, ...rest]: string[]): unknown {
  if (name === undefined) return mark
  if (Array.isArray(value)) return value.with(Number(name), withMark(value[Number(name)], rest))
  const object = value as Json
  return { ...object, [name]: withMark(object[name], rest) }
}

function formFields({ texts: given, files }: Form): Field[] {
  const field = (path: string, bodyOf: (form: Form, value: string) => string): Field => ({
    path: `form ${path}`,
    values: texts,
    rarity: seldom,
    put: ({ options, form }, value) => ({ ...options, body: bodyOf(form ?? noForm, value) }),
  })
  const withPart = (form: Form, part: string) => `${part}${formOf(form.texts, form.files)}`
  return [
    ...Object.keys(given).map((name) =>
      field(name, (form, value) => formOf({ ...form.texts, [name]: value }, form.files)),
    ),
    ...Object.keys(files).map((name) =>
      field(name, (form, value) => formOf(form.texts, { ...form.files, [name]: value })),
    ),
    field('(name of a part)', (form, value) => withPart(form, partOf(value, 'x'))),
    field('(name of a file)', (form, value) =>
      withPart(form, partOf('other', 'x', `; filename="${value}"`)),
    ),
    field('(type of a file)', (form, value) =>
      withPart(form, partOf('other', 'x', `; filename="a"\r\nContent-Type: ${value}`)),
    ),
    field('(before its end)', (form, value) => withPart(form, `--b\r\n${value}\r\n`)),
  ]
}

const noForm: Form = { texts: {}, files: {} }
