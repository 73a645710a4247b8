// Gives each object of the documents a name, so that generators make one type of it and readers can refer to it.
import type { JsonSchema } from './described-schema.ts'
import { type Source, sourceFiles } from './sdk-types.ts'
import { pascal, typeName } from './type-names.ts'

type Media = { schema: JsonSchema }
type Operation = {
  operationId: string
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { content?: Record<string, Media> }>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, JsonSchema> }
}

/** Location of a schema, in the words of the types of the SDKs. */
type SourceKey = Pick<Source, 'of' | 'part'>

/** A body to name. */
type Body = { media: Media; key: SourceKey; name: string }

const sources = sourceFiles.flatMap((file) => file.sources)
const parts = { 'application/json': 'body', 'multipart/form-data': 'form' } as const

/**
 * Moves the objects of all documents to their `components.schemas`, in place. Objects of one shape have one name in all
 * documents, that of the SDKs where they have the type. Throws an Error if two shapes would get one name.
 */
export function nameSchemas(plainDocuments: readonly JsonSchema[]): void {
  const documents = plainDocuments as unknown as Document[]
  const names = new Map<string, string>()
  const schemas: Record<string, JsonSchema> = {}

  /** A reference to the schema, which gets a name unless one of its shape has one. */
  function named(node: JsonSchema, own: string): JsonSchema {
    const { description, ...schema } = node
    const shape = JSON.stringify(schema)
    const name = names.get(shape) ?? own
    if (!names.has(shape) && name in schemas) throw new Error(`two schemas would be ${name}`)
    names.set(shape, name)
    const says = sources.find((source) => source.name === name)?.says ?? description
    schemas[name] ??= { ...(says !== undefined && { description: says }), ...schema }
    const $ref = `#/components/schemas/${name}`
    return description === undefined ? { $ref } : { description, $ref }
  }

  /** The schema with references in place of the objects in it. `path` leads from the body to it. */
  function withReferences(
    node: JsonSchema,
    name: string,
    key: SourceKey,
    path: string[],
  ): JsonSchema {
    const { properties, items, anyOf } = node as {
      properties?: Record<string, JsonSchema>
      items?: JsonSchema
      anyOf?: JsonSchema[]
    }
    const kinds = sourceAt(key, path)?.kinds ?? []
    return {
      ...node,
      ...(properties !== undefined && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([field, schema]) => {
            const fieldName = field === 'observed_client_ip' ? pascal(field) : name + pascal(field)
            return [field, inner(schema, fieldName, key, [...path, field])]
          }),
        ),
      }),
      ...(items !== undefined && {
        items: inner(items, name.replace(/s$/, ''), key, [...path, '[]']),
      }),
      ...(anyOf !== undefined && {
        anyOf: anyOf.map((option, index) =>
          inner(option, kinds[index] ?? (index === 0 ? name : `${name}Entry`), key, path),
        ),
      }),
    }
  }

  function inner(node: JsonSchema, fallback: string, key: SourceKey, path: string[]): JsonSchema {
    const source = path.length === 0 ? undefined : sourceAt(key, path)
    const isObject = Object.keys(node['properties'] ?? {}).length > 0
    const name = isObject ? (source?.name ?? typeName(fallback)) : fallback
    const made = withReferences(node, name, key, path)
    return isObject ? named(made, name) : made
  }

  for (const { components } of documents) {
    for (const [name, schema] of Object.entries(components.schemas)) {
      schemas[name] = withReferences(schema, name, { of: name, part: 'body' }, [])
    }
  }
  for (const { media, key, name } of documents.flatMap(bodiesOf).toSorted(inOrderOfSources)) {
    const prefix = sourceAt(key, [])?.name ?? pascal(key.of)
    media.schema = named(withReferences(media.schema, prefix, key, []), name)
  }
  for (const document of documents) document.components.schemas = schemas
}

function sourceAt({ of, part }: SourceKey, path: string[]): Source | undefined {
  return sources.find(
    (source) =>
      source.of === of && source.part === part && (source.path ?? []).join() === path.join(),
  )
}

function bodiesOf({ paths, webhooks = {} }: Document): Body[] {
  const pushes = Object.entries(webhooks).flatMap(([of, methods]) => {
    const key = { of, part: 'body' } as const
    const name = sourceAt(key, [])?.name ?? pascal(of)
    return Object.values(methods).flatMap(({ requestBody }) =>
      Object.values(requestBody?.content ?? {}).map((media) => ({ media, key, name })),
    )
  })
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return [...pushes, ...operations.flatMap(bodiesOfOperation)]
}

function bodiesOfOperation({ operationId: of, requestBody, responses }: Operation): Body[] {
  const request = Object.entries(requestBody?.content ?? {}).map(([type, media]) => {
    const part = parts[type as keyof typeof parts]
    return { media, key: { of, part }, name: pascal(`${of}_${part}`) }
  })
  const answers = Object.entries(responses).flatMap(([code, { content = {} }]) =>
    Object.values(content).map((media) => ({
      media,
      key: { of, part: Number(code) as 200 | 201 | 202 },
      name: pascal(`${of}${code === '202' ? '_accepted' : ''}_response`),
    })),
  )
  return [...request, ...answers]
}

/** What the SDKs have a type of comes first, and gives its name to what has the same shape. */
function inOrderOfSources(one: Body, other: Body): number {
  return rankOf(one) - rankOf(other)
}

function rankOf({ key }: Body): number {
  const rank = sources.findIndex(({ of, part }) => of === key.of && part === key.part)
  return rank < 0 ? sources.length : rank
}
