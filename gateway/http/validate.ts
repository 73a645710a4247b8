// Checks values against the schemas and reports what is missing, or else the first violation.
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { Failure } from '#core/errors/errors.ts'
import { findForbiddenCharacter } from '#core/text/text.ts'
import type { Annotated } from '../routes/schema-values.ts'
import { type UnknownFields, unknownFields } from './body/unknown-fields.ts'

/**
 * Returns the value as its type, or throws MISSING_PARAMETER for the required fields that are
 * absent or empty, else INVALID_PARAMETER. `isPlain` says that nothing in it needs to be searched.
 */
export type Check<T> = ((value: unknown, isPlain: boolean) => T) & {
  /** What it checks against, for the documents. */
  schema: TSchema
  /** Names what of a value it does not check, because the schema does not know it. */
  unknownFields: UnknownFields
}

/** What this file reads of a schema. */
type Node = Annotated & {
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  minLength?: number
  maxItems?: number
  /** An object and a list that a field may be, either of them. */
  anyOf?: Node[]
}

/** Compiles a schema, once, into its check. */
export function compileCheck<S extends TSchema>(schema: S): Check<Static<S>> {
  const compiled = Compile(schema)
  const node = schema as Node
  const check = (value: unknown, isPlain: boolean): Static<S> => {
    if (compiled.Check(value) && (isPlain || findForbidden(node, value, '') === undefined)) {
      return value
    }
    const missing = findMissing(node, value, '')
    if (missing.length > 0) throw missingFields(missing)
    const [, errors] = compiled.Errors(value)
    throw findForbidden(node, value, '') ?? firstProblem(node, value, errors)
  }
  return Object.assign(check, { schema, unknownFields: unknownFields(schema) })
}

/** The refusal of a body without these fields, of which there is at least one. */
export function missingFields(paths: readonly string[]): Failure {
  const [field = ''] = paths
  const named = paths.length === 1 ? field : `${paths.slice(0, -1).join(', ')} and ${paths.at(-1)}`
  const verb = paths.length === 1 ? 'is' : 'are'
  return new Failure('MISSING_PARAMETER', `${named} ${verb} required.`, { details: { field } })
}

/** The refusal of a field; `rule` reads on from its name: "must be …". */
export function invalidField(path: string, rule: string): Failure {
  return new Failure('INVALID_PARAMETER', `${path} ${rule}.`, { details: { field: path } })
}

/** The schema that is meant for this value, of those that the field offers. */
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
    // A list that is too long is refused for that; what is named stays bounded.
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

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

/**
 * The refusal of the first text, key or value, known field or not, that holds a forbidden character, or of the first number
 * that is too large for one.
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

/** Where a field offers an object or a list, the error inside is more specific than that it is neither. */
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
