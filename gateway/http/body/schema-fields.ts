// Compares a body with its schema: the known fields for fingerprints, the unknown ones for the header that names them.
import type { TSchema } from 'typebox'

type Pick = (value: unknown) => unknown

type Node = {
  properties?: Record<string, Node>
  items?: Node
  anyOf?: Node[]
  knownNames?: readonly string[]
}

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

/** Answers the value of `PW-Warning`, undefined when the route knows every field. */
export type UnknownFields = (body: unknown) => string | undefined

/** Adds the paths of unknown fields, and of texts that name one, inside a value to `paths`, until there are `maxPaths`. */
type Search = (value: unknown, path: string, paths: string[]) => void

const maxPaths = 10
const maxBytes = 1_024

/**
 * Makes the search for a schema. The value that it answers has up to 10 paths, such as `transaction_request.url`, each
 * percent-encoded, separated by commas, 1 KiB in all.
 */
export function unknownFields(schema: TSchema): UnknownFields {
  const search = searchOf(schema)
  return (body) => {
    const paths: string[] = []
    search(body, '', paths)
    return paths.length === 0 ? undefined : headerValue(paths)
  }
}

function searchOf({ properties, items, anyOf, knownNames }: Node): Search {
  if (knownNames !== undefined) return nameSearch(knownNames)
  if (items !== undefined) return listSearch(searchOf(items))
  if (anyOf !== undefined) {
    const inList = searchOf(anyOf.find((node) => node.items !== undefined) ?? {})
    const inObject = searchOf(anyOf.find((node) => node.properties !== undefined) ?? {})
    return (value, path, paths) => (Array.isArray(value) ? inList : inObject)(value, path, paths)
  }
  const known = new Map(
    Object.entries(properties ?? {}).map(([name, node]) => [name, searchOf(node)]),
  )
  // A text or number has no fields, and an object of the client's own has none that are unknown.
  return known.size === 0 ? () => {} : objectSearch(known)
}

function nameSearch(known: readonly string[]): Search {
  return (value, path, paths) => {
    if (typeof value === 'string' && !known.includes(value)) paths.push(path)
  }
}

function listSearch(search: Search): Search {
  return (value, path, paths) => {
    if (!Array.isArray(value)) return
    for (let index = 0; index < value.length && paths.length < maxPaths; index += 1) {
      search(value[index], `${path}[${index}]`, paths)
    }
  }
}

function objectSearch(known: ReadonlyMap<string, Search>): Search {
  return (value, path, paths) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return
    for (const name in value) {
      if (paths.length >= maxPaths) return
      const inner = path === '' ? name : `${path}.${name}`
      const search = known.get(name)
      if (search === undefined) paths.push(inner)
      else search((value as Record<string, unknown>)[name], inner, paths)
    }
  }
}

/** As many of the paths as fit. A first path that is too long itself is cut after a whole character. */
function headerValue([first = '', ...more]: readonly string[]): string {
  let text = ''
  for (const character of first.toWellFormed()) {
    const longer = text + encodeURIComponent(character)
    if (longer.length > maxBytes) return text
    text = longer
  }
  for (const path of more) {
    const longer = `${text}, ${encodeURIComponent(path.toWellFormed())}`
    if (longer.length > maxBytes) break
    text = longer
  }
  return text
}
