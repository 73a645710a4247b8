// Checks values against the schemas and reports what is missing, or else the first violation.
import type { Static, TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency, parseAmount } from '#core/money/money.ts'
import type { ContractVersion } from '#core/text/contract-version.ts'
import { parsePhone } from '#core/text/phone.ts'
import { findForbiddenCharacter } from '#core/text/text.ts'
import { parseDateTime } from '#core/text/time.ts'
import {
  type Annotated,
  currencyRule,
  mobileNumberRule,
  momentRule,
} from '../routes/schema-values.ts'
import { type UnknownFields, unknownFields } from './body/schema-fields.ts'
import { refusal } from './envelope.ts'

/**
 * Returns the value as its type, or throws MISSING_PARAMETER for the required fields that are
 * absent or empty, else INVALID_PARAMETER. `isPlain`: the value certainly has no forbidden character (`JsonBody`).
 */
export type Check<T> = ((value: unknown, isPlain: boolean) => T) & {
  /** The schema, for the OpenAPI document. */
  schema: TSchema
  /** Names the fields of a value that are not in the schema. */
  unknownFields: UnknownFields
}

/** The parts of a schema that this file reads. */
type Node = Annotated & {
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  minLength?: number
  maxItems?: number
  /** Set for a field that may be an object or a list. */
  anyOf?: Node[]
}

/**
 * Compiles a schema, once, into its check. `missingByRule` answers the paths of absent fields that other fields of a body, not
 * checked yet, make required: a schema does not say it.
 */
export function compileCheck<S extends TSchema>(
  schema: S,
  missingByRule: (body: Record<string, unknown>) => string[] = () => [],
): Check<Static<S>> {
  const compiled = Compile(schema)
  const node = schema as Node
  const check = (value: unknown, isPlain: boolean): Static<S> => {
    const isValid =
      compiled.Check(value) && (isPlain || findForbidden(node, value, '') === undefined)
    const ruled = missingByRule(value as Record<string, unknown>)
    if (isValid && ruled.length === 0) return value
    const missing = findMissing(node, value, '')
    if (missing.length > 0 || isValid) throw missingFields([...missing, ...ruled])
    const [, errors] = compiled.Errors(value)
    throw findForbidden(node, value, '') ?? firstProblem(node, value, errors)
  }
  return Object.assign(check, { schema, unknownFields: unknownFields(schema) })
}

/** The refusal of a body without these fields, of which there is at least one. */
function missingFields(paths: readonly string[]): Failure {
  const [field = ''] = paths
  const named = paths.length === 1 ? field : `${paths.slice(0, -1).join(', ')} and ${paths.at(-1)}`
  const verb = paths.length === 1 ? 'is' : 'are'
  return new Failure('MISSING_PARAMETER', `${named} ${verb} required.`, { details: { field } })
}

/** The refusal of a field; `rule` continues the sentence that begins with its name: "must be …". */
export function invalidField(path: string, rule: string): Failure {
  return new Failure('INVALID_PARAMETER', `${path} ${rule}.`, { details: { field: path } })
}

/** The alternative of `anyOf` that fits this value: the one for lists or the one for objects. */
function meant(schema: Node, value: unknown): Node {
  if (schema.anyOf === undefined || typeof value !== 'object' || value === null) return schema
  const isList = Array.isArray(value)
  return schema.anyOf.find(({ items }) => (items !== undefined) === isList) ?? schema
}

/** Paths of the required fields that are absent or empty, in the order of the schema. */
function findMissing(offered: Node, value: unknown, path: string): string[] {
  const schema = meant(offered, value)
  if (Array.isArray(value)) {
    const { items, maxItems = 0 } = schema
    if (items === undefined) return []
    // A longer list is refused anyway, and the message must not grow with it.
    return value
      .slice(0, maxItems)
      .flatMap((item, index) => findMissing(items, item, `${path}[${index}]`))
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const inner = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
    const innerPath = join(path, name)
    if (!isEmpty(inner)) return findMissing(child, inner, innerPath)
    const mayBeEmpty = inner === '' && child.minLength === 0
    return schema.required?.includes(name) === true && !mayBeEmpty ? [innerPath] : []
  })
}

/** Whether a value counts as absent. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

/**
 * The refusal of the first key or text value with a forbidden character, also in unknown fields, or of the first number that
 * JavaScript cannot represent.
 */
function findForbidden(offered: Node, value: unknown, path: string): Failure | undefined {
  const schema = inherit(offered, meant(offered, value))
  if (typeof value === 'string') {
    const found = findForbiddenCharacter(value, { multiline: schema.multiline === true })
    return found === undefined ? undefined : invalidField(path, `must not contain ${found}`)
  }
  // JSON has no infinity, yet a number such as 1e400 is read as one.
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return invalidField(path, 'must not exceed 1.8e308 in magnitude')
  }
  if (Array.isArray(value)) {
    const items = inherit(schema, schema.items)
    return first(value, (item, index) => findForbidden(items, item, `${path}[${index}]`))
  }
  if (typeof value !== 'object' || value === null) return undefined
  return first(Object.entries(value), ([key, child]) => {
    const found = findForbiddenCharacter(key)
    if (found !== undefined) {
      return invalidField(path === '' ? 'A field name' : path, `must not contain ${found}`)
    }
    const known = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties?.[key] : undefined
    return findForbidden(inherit(schema, known), child, join(path, key))
  })
}

function inherit(parent: Node, child: Node | undefined): Node {
  if (parent.multiline === true) return { ...child, multiline: true }
  return child ?? {}
}

function firstProblem(
  schema: Node,
  value: unknown,
  errors: ReadonlyArray<{ instancePath: string }>,
): Failure {
  const [error] = errors
  if (error === undefined) throw new Error('a value was refused without a reason')
  let node: Node = schema
  let inner: unknown = value
  let path = ''
  for (const part of deepest(errors, error.instancePath).split('/').slice(1)) {
    const { items, properties } = meant(node, inner)
    const child = items ?? properties?.[part]
    if (child === undefined) break
    path = items === undefined ? join(path, part) : `${path}[${part}]`
    node = child
    inner = (inner as Record<string, unknown>)[part]
  }
  return invalidField(path === '' ? 'The body' : path, node.rule ?? 'is not valid')
}

/** The most deeply nested error: for `anyOf`, an error inside an alternative is more specific than that none of them fits. */
function deepest(errors: ReadonlyArray<{ instancePath: string }>, start: string): string {
  const inside = errors.find(({ instancePath }) => instancePath.startsWith(`${start}/`))
  return inside === undefined ? start : deepest(errors, inside.instancePath)
}

const plainName = /^[\w.-]{1,64}$/

/** The name of a field that a client chose, fit for a message. */
export function shownName(name: string): string {
  return plainName.test(name) ? name : '(unnamed)'
}

function join(path: string, name: string): string {
  const shown = shownName(name)
  return path === '' ? shown : `${path}.${shown}`
}

function first<T, R>(items: readonly T[], find: (item: T, index: number) => R | undefined) {
  for (let index = 0; index < items.length; index += 1) {
    const found = find(items[index] as T, index)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the parameters or throws MISSING_PARAMETER, VERSION_NOT_SUPPORTED or INVALID_PARAMETER. */
export type QueryCheck<T> = ((query: Record<string, unknown>) => T) & {
  /** The schema, for the OpenAPI document. */
  schema: TObject
}

/** Compiles the query of a route; the order of the fields is the order in which missing ones are named. */
export function compileQuery<S extends TObject>(
  schema: S,
  version: ContractVersion,
): QueryCheck<Static<S>> {
  const check = compileCheck(schema)
  const names = Object.keys(schema.properties)
  const required = new Set((schema as { required?: string[] }).required)
  const checkQuery = (query: Record<string, unknown>): Static<S> => {
    const missing = names.filter((name) => required.has(name) && isAbsent(query[name]))
    if (missing.length > 0) throw missingParameters(missing)
    const repeated = Object.keys(query).find((name) => Array.isArray(query[name]))
    if (repeated !== undefined) throw invalidField(shownName(repeated), 'must be given once')
    if (query['version'] !== version) {
      const message = `version must be exactly ${version}.`
      throw new Failure('VERSION_NOT_SUPPORTED', message, { details: { field: 'version' } })
    }
    return check(withoutEmpty(query, names), false)
  }
  return Object.assign(checkQuery, { schema })
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === ''
}

function missingParameters(missing: string[]): Failure {
  return new Failure('MISSING_PARAMETER', `Missing query parameters: ${missing.join(', ')}.`, {
    details: { missing: missing.join(',') },
  })
}

// An empty parameter counts as missing. Unknown parameters stay: they are ignored, but checked for forbidden characters.
function withoutEmpty(query: Record<string, unknown>, names: string[]): Record<string, unknown> {
  const given: Record<string, unknown> = { ...query }
  for (const name of names) if (given[name] === '') delete given[name]
  return given
}

/** An id that a client sent, for a service, which takes only UUIDs. Any other text is refused like an unknown id. */
export function readId(text: string, unknown: Reason): string {
  if (isUuid(text)) return text
  throw refusal(unknown)
}

/** A currency that exists. */
export function readCurrency(code: string, path: string): string {
  if (!isCurrency(code)) throw invalidField(path, currencyRule)
  return code
}

/** Minor units of an amount in a currency that exists. */
export function readAmount(
  text: string,
  currency: string,
  path: string,
  options: { allowZero?: boolean } = {},
): bigint {
  try {
    return parseAmount(text, currency, options)
  } catch (error) {
    if (error instanceof Failure) throw invalidField(path, error.message)
    throw error
  }
}

/** An amount above zero whose currency is known only to a service. */
export function checkAmount(text: string, path: string): void {
  if (!/[1-9]/.test(text)) throw invalidField(path, 'must be above zero')
}

/** E.164 of a number that is possible in the country or anywhere. */
export function readPhone(text: string, country: string, path: string): string {
  const phone = knownPhone(text, country)
  if (phone === undefined) throw invalidField(path, mobileNumberRule)
  return phone
}

// Cached, because parsing a phone number costs as much CPU as all other checks of a request, and payers return.
const phones = new Map<string, string>()
const maxPhones = 10_000

function knownPhone(text: string, country: string): string | undefined {
  const key = `${country}${text}`
  const known = phones.get(key)
  if (known !== undefined) return known
  const phone = parsePhone(text, country)
  if (phones.size >= maxPhones) phones.clear()
  if (phone !== undefined) phones.set(key, phone)
  return phone
}

/** E.164 of the `mobile_number` of a query, where an unescaped plus sign has become a blank. */
export function readQueriedPhone(text: string, country: string): string {
  return readPhone(withPlus(text), country, 'mobile_number')
}

/** The `mobile_number` of a query as the client wrote it. */
export function withPlus(text: string): string {
  return text.startsWith(' ') ? `+${text.slice(1)}` : text
}

/** Checks that a day, or a day with time, exists in the calendar. */
export function checkMoment(text: string | undefined, path: string): void {
  if (text !== undefined && momentOf(text) === undefined) throw invalidField(path, momentRule)
}

const dayMs = 86_400_000
const secondMs = 1_000
/** The last time that services take. */
const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** A window of time; `end` is the instant after its last one. */
export type Window = { start: Date | undefined; end: Date | undefined }

/** The window that two fields name: a day alone is the whole of it, a time its whole second. */
export function readWindow<Start extends string, End extends string>(
  given: { [Name in Start | End]?: string },
  startName: Start,
  endName: End,
): Window {
  const startText: string | undefined = given[startName]
  const endText: string | undefined = given[endName]
  checkMoment(startText, startName)
  checkMoment(endText, endName)
  const start = momentOf(startText)
  const last = momentOf(endText)
  const widthMs = endText?.length === 10 ? dayMs : secondMs
  const end =
    last === undefined ? undefined : new Date(Math.min(last.getTime() + widthMs, lastTimeMs))
  if (start !== undefined && end !== undefined && start >= end) {
    throw invalidField(startName, `must not be after ${endName}`)
  }
  return { start, end }
}

function momentOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  return parseDateTime(text.length === 10 ? `${text} 00:00:00` : text)
}
