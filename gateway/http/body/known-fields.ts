// Picks the fields of a body that its schema knows, for fingerprints.
import type { TSchema } from 'typebox'

type Pick = (value: unknown) => unknown

type Node = { properties?: Record<string, Node>; items?: Node; anyOf?: Node[] }

/** Makes the picker of a schema; `without` names fields of the top level that are left out. */
export function knownFields(schema: TSchema, without: readonly string[] = []): Pick {
  const { properties = {} } = schema as Node
  const kept = Object.entries(properties).filter(([name]) => !without.includes(name))
  return picker({ properties: Object.fromEntries(kept) })
}

function picker({ properties, items, anyOf }: Node): Pick {
  if (items !== undefined) {
    const pick = picker(items)
    return (value) => (Array.isArray(value) ? value.map((item) => pick(item)) : value)
  }
  if (anyOf !== undefined) {
    const asList = picker(anyOf.find((node) => node.items !== undefined) ?? {})
    const asObject = picker(anyOf.find((node) => node.properties !== undefined) ?? {})
    return (value) => (Array.isArray(value) ? asList(value) : asObject(value))
  }
  // In the order of a fingerprint, which is spared the sorting.
  const fields = Object.entries(properties ?? {}).toSorted(byName)
  // An object of the client's own has no known fields: all of it counts.
  if (fields.length === 0) return (value) => value
  const picks = fields.map(([name, node]): [string, Pick] => [name, picker(node)])
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const given = value as Record<string, unknown>
    const picked: Record<string, unknown> = {}
    for (const [name, pick] of picks) {
      if (given[name] !== undefined) picked[name] = pick(given[name])
    }
    return picked
  }
}

function byName([one]: [string, Node], [other]: [string, Node]): number {
  return one < other ? -1 : 1
}
