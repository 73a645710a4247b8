// Reads the types of the SDKs out of the OpenAPI documents, for a renderer of any language.
import { amountPattern } from '#core/money/money.ts'
import type { JsonSchema } from '../../gateway/openapi/described-schema.ts'
import type { Source, SourceFile } from '../../gateway/openapi/sdk-types.ts'
import { pascal, typeName } from '../../gateway/openapi/type-names.ts'

/** The type of a value. `amount` is a decimal text that a client sends; `exact` a JSON number that is no float. */
export type Type =
  | { kind: 'text' | 'amount' | 'exact' | 'integer' | 'boolean' | 'null' | 'file' | 'anything' }
  | { kind: 'literals'; values: (string | number | boolean)[] }
  | { kind: 'list' | 'map'; of: Type }
  | { kind: 'choice'; of: Type[] }
  | { kind: 'named'; name: string }

/** A field of an object. */
export type Field = { name: string; says: string; isOptional: boolean; type: Type }

/** A type with a name: an object, or a choice of objects. */
export type Named = { name: string; says: string } & ({ fields: Field[] } | { choice: Type[] })

/** An OpenAPI document, as far as types are read from it. */
export type Document = {
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, Record<string, Operation>>
}

type Operation = {
  operationId: string
  parameters?: {
    name?: string
    in?: string
    description?: string
    required?: boolean
    schema?: Node
  }[]
  requestBody?: { content: Record<string, { schema: Node }> }
  responses: Record<string, { content?: Record<string, { schema: Node }> }>
}

type Node = {
  type?: string
  const?: string | number | boolean
  enum?: (string | number | boolean)[]
  anyOf?: Node[]
  items?: Node
  properties?: Record<string, Node>
  required?: string[]
  additionalProperties?: Node | boolean
  pattern?: string
  contentMediaType?: string
  description?: string
}

/** What the SDK sends by itself, and the fields of the envelope. */
const given = new Set(['version', 'api_key', 'cursor'])
const envelope = new Set([
  'status',
  'code',
  'message',
  'request_id',
  'timestamp',
  'observed_client_ip',
])

/** The types of one file. */
export type TypeFile = { file: string; says: string; types: Named[] }

/** The types of all files; those of one shape are one type. Throws an Error for a source that no document has. */
export function typeFiles(
  documents: readonly Document[],
  files: readonly SourceFile[],
): TypeFile[] {
  const known = new Map<string, string>()
  return files.map(({ file, says, sources }) => ({
    file,
    says,
    types: namedTypes(documents, sources, known),
  }))
}

/** The types of one file, each before those that use it. `known` has the names of shapes, and gets more of them. */
function namedTypes(
  documents: readonly Document[],
  sources: readonly Source[],
  known: Map<string, string>,
): Named[] {
  const found: Named[] = []

  function typeOf(node: Node, name: string): Type {
    if (node.anyOf !== undefined) {
      const kinds = node.anyOf.map((option, index) =>
        typeOf(option, index === 0 ? name : `${name}Entry`),
      )
      return { kind: 'choice', of: kinds }
    }
    if (node.const !== undefined) return { kind: 'literals', values: [node.const] }
    if (node.enum !== undefined) return { kind: 'literals', values: node.enum }
    if (node.contentMediaType !== undefined) return { kind: 'file' }
    if (node.type === 'array') return { kind: 'list', of: typeOf(node.items ?? {}, singular(name)) }
    if (node.type === 'object') return objectOf(node, name)
    if (node.type === 'string') {
      return { kind: node.pattern === amountPattern.source ? 'amount' : 'text' }
    }
    if (node.type === 'number') return { kind: 'exact' }
    if (node.type === 'integer' || node.type === 'boolean' || node.type === 'null') {
      return { kind: node.type }
    }
    return { kind: 'anything' }
  }

  function objectOf(node: Node, name: string): Type {
    const { properties = {}, additionalProperties } = node
    if (Object.keys(properties).length === 0) {
      const values = typeof additionalProperties === 'object' ? additionalProperties : {}
      return { kind: 'map', of: typeOf(values, name) }
    }
    const { description = '', ...content } = node
    const shape = JSON.stringify(content)
    const same = known.get(shape)
    if (same !== undefined) return { kind: 'named', name: same }
    const own = typeName(name)
    known.set(shape, own)
    found.push({ name: own, says: description, fields: fieldsOf(node, own) })
    return { kind: 'named', name: own }
  }

  function fieldsOf({ properties = {}, required = [] }: Node, parent: string): Field[] {
    return Object.entries(properties).map(([name, node]) => ({
      name,
      // The type shows what it must be one of.
      says: (node.description ?? '').replace(/ ?Must be one of [^.]+\.$/, ''),
      isOptional: !required.includes(name),
      type: typeOf(node, parent + pascal(name)),
    }))
  }

  for (const source of sources) {
    const node = schemaOf(documents, source)
    const { name, says, kinds } = source
    if (kinds !== undefined) {
      const choice = (node.anyOf ?? []).map((option, index) =>
        typeOf({ ...option, description: says }, kinds[index] ?? name),
      )
      found.push({ name, says, choice })
    } else found.push({ name, says, fields: fieldsOf(node, name) })
  }
  return found
}

function schemaOf(documents: readonly Document[], source: Source): Node {
  const { of, part, path = [], keeps = [] } = source
  const operations = documents.flatMap(({ paths, webhooks = {} }) => [
    ...Object.values(paths).flatMap((methods) => Object.values(methods)),
    ...Object.entries(webhooks).flatMap(([name, methods]) =>
      Object.values(methods).map((push) => ({ ...push, operationId: name })),
    ),
  ])
  const operation = operations.find(({ operationId }) => operationId === of)
  let node = operation && partOf(operation, part)
  for (const name of path) node = name === '[]' ? node?.items : node?.properties?.[name]
  if (node === undefined) throw new Error(`the documents have no ${source.name}`)
  const isPush = documents.some(({ webhooks = {} }) => of in webhooks)
  if (isPush || (typeof part === 'number' && path.length > 0)) return node
  const leftOut = typeof part === 'number' ? envelope : given
  return without(node, (name) => leftOut.has(name) && !keeps.includes(name))
}

function partOf(operation: Operation, part: Source['part']): Node | undefined {
  const { requestBody, responses, parameters = [] } = operation
  if (part === 'body') return requestBody?.content['application/json']?.schema
  if (part === 'form') return requestBody?.content['multipart/form-data']?.schema
  if (part !== 'query') return responses[part]?.content?.['application/json']?.schema
  const query = parameters.filter((parameter) => parameter.in === 'query')
  return {
    type: 'object',
    required: query.flatMap(({ name = '', required }) => (required === true ? [name] : [])),
    properties: Object.fromEntries(
      query.map(({ name = '', description = '', schema = {} }) => [
        name,
        // A count is text in a query, and a number for a program.
        { ...(name === 'limit' ? { type: 'integer' } : schema), description },
      ]),
    ),
  }
}

function without(node: Node, isLeftOut: (name: string) => boolean): Node {
  if (node.properties === undefined) return node
  const kept = Object.entries(node.properties).filter(([name]) => !isLeftOut(name))
  return { ...node, properties: Object.fromEntries(kept) }
}

function singular(name: string): string {
  return name.replace(/s$/, '')
}

/** The documents as they are read here. */
export function asDocuments(documents: readonly JsonSchema[]): Document[] {
  return documents as unknown as Document[]
}

/** Text in lines of at most `width` characters. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width) {
      lines[lines.length - 1] = `${last} ${word}`
    } else lines.push(word)
  }
  return lines
}
