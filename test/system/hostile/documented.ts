// The fields that the OpenAPI documents have for each route, so that a field that nobody sweeps is found.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

type Schema = {
  $ref?: string
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
}
type Parameter = { $ref?: string; in: string; name: string }
type Operation = {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}
type Document = { paths: Record<string, Record<string, Operation>> }

const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'openapi')
const form = 'multipart/form-data'

/** By method and path, as in "GET /quote": "header X", "query x", "a.b[].c" of a JSON body, "form x". */
export function documentedFields(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const version of ['2024-10-01', '2026-07-01', '2026-12-01']) {
    const document = JSON.parse(readFileSync(join(folder, `${version}.json`), 'utf8')) as Document
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        found.set(`${method.toUpperCase()} ${path}`, new Set(fieldsOf(operation, document)))
      }
    }
  }
  return found
}

function fieldsOf({ parameters = [], requestBody }: Operation, document: Document): string[] {
  const named = parameters
    .map((parameter) => resolved(parameter, document))
    .map(({ in: place, name }) => `${place} ${name}`)
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => {
    const start = type === form ? 'form ' : ''
    return pathsIn(schema, document).map((path) => `${start}${path}`)
  })
  return [...named, ...bodies]
}

function pathsIn(given: Schema, document: Document, at = ''): string[] {
  const schema = resolved(given, document)
  const { oneOf = [], anyOf = [], allOf = [], items, properties = {} } = schema
  const inItems = items === undefined ? [] : pathsIn(items, document, `${at}[]`)
  const inProperties = Object.entries(properties).flatMap(([name, value]) => {
    const path = at === '' ? name : `${at}.${name}`
    return [path, ...pathsIn(value, document, path)]
  })
  const inChoices = [...oneOf, ...anyOf, ...allOf].flatMap((one) => pathsIn(one, document, at))
  return [...inItems, ...inProperties, ...inChoices]
}

/** What a reference within the document leads to. */
function resolved<T extends { $ref?: string }>(node: T, document: Document): T {
  if (node.$ref === undefined) return node
  const keys = node.$ref.split('/').slice(1)
  let value: unknown = document
  for (const key of keys) value = (value as Record<string, unknown>)[key]
  return resolved(value as T, document)
}
