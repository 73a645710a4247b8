// Masks JSON by its schema for the API log: a value is kept only where its schema marks it as neither personal nor secret.
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { loggedId } from '#core/text/logged-id.ts'
import type { Annotated } from '../routes/schema-values.ts'

/** Returns what is kept of a value. Never throws. */
export type Mask = (value: unknown) => unknown

/** What this file reads of a schema. */
type Node = Annotated & {
  type?: string
  properties?: Record<string, Node>
  items?: Node
  anyOf?: Node[]
  enum?: unknown[]
  const?: unknown
}

const maxItems = 20
// A text of digits, such as an amount, may be the number of a card, and a number a PIN.
const cardLike = /\d{13}/
const firstPinLike = 100_000
/** Maximum characters of the JSON that is kept. */
const maxCharacters = 8_192

/**
 * Makes the mask of a schema. Kept are the words, booleans and nulls that the schema names, what it marks as `logged`, if it
 * is of that schema, and the names of known fields. Everything else becomes a description: "[12 characters]".
 */
export function maskOf(schema: TSchema): Mask {
  return maskOfNode(schema)
}

function maskOfNode(node: Node): Mask {
  const { properties, items, anyOf } = node
  if (anyOf !== undefined) return maskOfChoice(anyOf)
  if (items !== undefined) return maskOfList(maskOfNode(items))
  if (properties !== undefined) return maskOfFields(properties)
  return maskOfLeaf(node)
}

function maskOfChoice(options: Node[]): Mask {
  const list = options.find(({ items }) => items !== undefined)
  const fields = options.find(({ properties }) => properties !== undefined)
  const asList = list === undefined ? describe : maskOfNode(list)
  const asFields = fields === undefined ? describe : maskOfNode(fields)
  const leaves = options.filter((option) => option !== list && option !== fields).map(maskOfLeaf)
  return (value) => {
    if (Array.isArray(value)) return asList(value)
    if (typeof value === 'object' && value !== null) return asFields(value)
    const kept = leaves.map((mask) => mask(value)).find((one) => one === value)
    return kept === undefined ? describe(value) : kept
  }
}

function maskOfList(mask: Mask): Mask {
  return (value) => {
    if (!Array.isArray(value)) return describe(value)
    const kept = value.slice(0, maxItems).map(mask)
    return value.length > maxItems ? [...kept, `[${value.length - maxItems} more]`] : kept
  }
}

function maskOfFields(properties: Record<string, Node>): Mask {
  const masks = new Map(Object.entries(properties).map(([name, node]) => [name, maskOfNode(node)]))
  // An object of the client's own: even the names of its fields may be personal.
  if (masks.size === 0) return describe
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return describe(value)
    const kept: Record<string, unknown> = {}
    let unknown = 0
    for (const [name, inner] of Object.entries(value)) {
      const mask = masks.get(name)
      if (mask === undefined) unknown += 1
      else kept[name] = mask(inner)
    }
    if (unknown > 0) kept['[unknown fields]'] = unknown
    return kept
  }
}

function maskOfLeaf(node: Node): Mask {
  const isClear =
    node.logged !== undefined ||
    node.enum !== undefined ||
    'const' in node ||
    node.type === 'boolean' ||
    node.type === 'null'
  if (!isClear) return describe
  const compiled = Compile(node as TSchema)
  return (value) => {
    if (!compiled.Check(value)) return describe(value)
    if (typeof value === 'number' && value >= firstPinLike) return describe(value)
    if (typeof value !== 'string') return value
    if (node.logged === 'id') return loggedId(value) ?? describe(value)
    return cardLike.test(value) ? describe(value) : value
  }
}

/** What is said of a value that is not kept. */
function describe(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length === 1 ? '[1 character]' : `[${value.length} characters]`
  }
  if (Array.isArray(value)) return value.length === 1 ? '[1 item]' : `[${value.length} items]`
  return value === null ? null : `[${typeof value}]`
}

/** The JSON that is kept of a masked value, cut at 8,192 characters; empty for none. */
export function keptJson(masked: unknown): string {
  if (masked === undefined) return ''
  const json = JSON.stringify(masked)
  return json.length > maxCharacters ? `${json.slice(0, maxCharacters - 1)}…` : json
}
