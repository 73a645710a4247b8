// Cuts a published OpenAPI document down to the operations and fields that a connector uses.

type Node = { [key: string]: unknown }

/** What is kept. Fields of answers that are not named, and schemas that nothing kept refers to, are left out. */
export type Kept = {
  /** By path and method: names of parameters, and fields of the form that is sent. */
  operations: Record<string, Record<string, { parameters?: string[]; body?: string[] }>>
  /** Fields by schema. */
  schemas: Record<string, string[]>
}

/** The paths and schemas of the document that are kept. Throws when something that is to be kept is not there. */
export function cutOpenApi(document: Node, { operations, schemas }: Kept) {
  const paths = mapOf(operations, (methods, path) =>
    mapOf(methods, (kept, method) =>
      cutOperation(nodeAt(document, 'paths', path, method), kept, Object.keys(schemas)),
    ),
  )
  const cut = mapOf(schemas, (fields, name) =>
    cutSchema(nodeAt(document, 'components', 'schemas', name), fields, Object.keys(schemas)),
  )
  return { paths, components: { schemas: cut } }
}

function cutOperation(
  operation: Node,
  { parameters = [], body }: { parameters?: string[]; body?: string[] },
  schemas: string[],
): Node {
  const all = (operation['parameters'] ?? []) as Node[]
  const { operationId, requestBody, responses } = operation
  return {
    operationId,
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => {
        const found = all.find((one) => one['name'] === name)
        if (found === undefined) throw new Error(`${String(operationId)} has no parameter ${name}`)
        return withoutNotes(found)
      }),
    }),
    ...(body !== undefined && {
      requestBody: {
        content: mapOf((requestBody as { content: Node }).content, (content) => ({
          schema: cutSchema((content as { schema: Node }).schema, body, schemas),
        })),
        required: (requestBody as Node)['required'] ?? false,
      },
    }),
    responses: mapOf(responses as Record<string, Node>, ({ description, content }) => ({
      description,
      content: prune(withoutNotes(content), schemas),
    })),
  }
}

/** A schema with these fields alone. */
function cutSchema(schema: Node, fields: string[], schemas: string[]): Node {
  const { properties = {}, required = [] } = schema as { properties?: Node; required?: string[] }
  const kept = fields.map((field) => [field, nodeAt(properties, field)] as const)
  const left = required.filter((field) => fields.includes(field))
  const { type, additionalProperties, nullable } = schema
  return {
    type,
    ...(nullable !== undefined && { nullable }),
    ...(additionalProperties !== undefined && { additionalProperties }),
    properties: Object.fromEntries(
      kept.map(([field, value]) => [field, prune(withoutNotes(value), schemas)]),
    ),
    ...(left.length > 0 && { required: left }),
  }
}

/** Leaves out alternatives that refer to schemas which are not kept. Throws where none is left. */
function prune(value: unknown, schemas: string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => prune(one, schemas))
  if (typeof value !== 'object' || value === null) return value
  return mapOf(value as Node, (child, key) => {
    if (key !== 'anyOf' && key !== 'oneOf') return prune(child, schemas)
    const alternatives = (child as { $ref?: string }[]).filter(
      ({ $ref }) => $ref === undefined || schemas.includes($ref.split('/').at(-1) ?? ''),
    )
    if (alternatives.length === 0) throw new Error('no alternative is kept')
    return alternatives.map((one) => prune(one, schemas))
  })
}

const notes = new Set(['title', 'description'])

/** Leaves out extensions, and titles and descriptions of fields, which check nothing. */
function withoutNotes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNotes)
  if (typeof value !== 'object' || value === null) return value
  const isNote = ([key, child]: [string, unknown]) =>
    key.startsWith('x-') || (notes.has(key) && typeof child === 'string')
  const kept = Object.entries(value).filter((entry) => !isNote(entry))
  return Object.fromEntries(kept.map(([key, child]) => [key, withoutNotes(child)]))
}

function mapOf<T, R>(values: Record<string, T>, change: (value: T, key: string) => R) {
  return Object.fromEntries(Object.entries(values).map(([key, one]) => [key, change(one, key)]))
}

function nodeAt(node: Node, ...keys: string[]): Node {
  let found: unknown = node
  for (const key of keys) found = (found as Node | undefined)?.[key]
  if (found === undefined) throw new Error(`the document has no ${keys.join(' ')}`)
  return found as Node
}
