// Adds descriptions to the JSON Schemas of requests and answers without a change of what they accept.
import type { TSchema } from 'typebox'
import { meaningOf } from './field-meanings.ts'

/** JSON Schema as it stands in a document. */
export type JsonSchema = { [keyword: string]: unknown }

type Node = {
  properties?: Record<string, Node>
  patternProperties?: Record<string, Node>
  items?: Node
  anyOf?: Node[]
  rule?: string
  multiline?: boolean
  logged?: string
  knownNames?: unknown
  description?: string
  enum?: unknown[]
  type?: string
}

/** The schema with what its fields mean; `name` is that of the field that holds it. */
export function describedSchema(schema: TSchema, name = ''): JsonSchema {
  return described(schema, name)
}

function described(node: Node, name: string): JsonSchema {
  const {
    properties,
    patternProperties,
    items,
    anyOf,
    rule: _rule,
    multiline: _lines,
    logged: _logged,
    knownNames: _names,
    ...rest
  } = node
  const schema: JsonSchema = { ...rest }
  const type = node.type ?? typeOf(node.enum)
  if (type !== undefined) schema['type'] = type
  if (properties !== undefined) schema['properties'] = describedFields(properties, name)
  if (patternProperties !== undefined) {
    // Fields of any name: the same said in the words that every generator knows.
    const [value] = Object.values(patternProperties)
    schema['additionalProperties'] = value === undefined ? {} : described(value, name)
  }
  if (items !== undefined) schema['items'] = described(items, name)
  if (anyOf !== undefined) schema['anyOf'] = anyOf.map((option) => described(option, name))
  return schema
}

function describedFields(fields: Record<string, Node>, parent: string): JsonSchema {
  return Object.fromEntries(
    Object.entries(fields).map(([name, node]) => {
      const schema = described(node, name)
      const meaning = node.description ?? meaningOf(parent, name)
      const text = [meaning, ruleOf(node)].filter((part) => part !== undefined).join(' ')
      return [name, text === '' ? schema : { ...schema, description: text }]
    }),
  )
}

/** The rule that a refusal quotes, as a sentence. */
function ruleOf({ rule }: Node): string | undefined {
  if (rule === undefined || rule === 'must be an object') return undefined
  return `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`
}

function typeOf(values: unknown[] | undefined): string | undefined {
  if (values === undefined) return undefined
  return values.every((value) => typeof value === 'string') ? 'string' : 'integer'
}
