// Compares the documents with the rows that serve them, OpenAPI and their committed copies; `-u` writes those anew.
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { contractVersions } from '#core/text/contract-version.ts'
import { routeRows } from '../http/app.ts'
import { openApiDocuments } from './document.ts'

type Schema = { $ref?: string; properties?: Record<string, { description?: string }> }
type Operation = {
  operationId: string
  parameters: Array<{ name?: string; $ref?: string; description?: string }>
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, object>
  'x-codeSamples': Array<{ label: string; source: string }>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const documents = openApiDocuments({ rows: routeRows, publicBaseUrl: 'http://127.0.0.1:8080' })
const made = contractVersions.map((version) => {
  const document = documents[version]
  return { version, document, paths: (document as Document).paths }
})
const schemas = Object.assign(
  {},
  ...made.map(({ document }) => (document as Document).components.schemas),
) as Record<string, Schema>

function resolved(schema: Schema = {}): Schema {
  return schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
}

function operations(): Array<Operation & { name: string; version: string }> {
  return made.flatMap(({ version, paths }) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        version,
        ...operation,
      })),
    ),
  )
}

/** Paths of the fields that say nothing about themselves. */
function silentFields(node: unknown, path = ''): string[] {
  if (Array.isArray(node)) return node.flatMap((item) => silentFields(item, path))
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => {
    const at = `${path}/${name}`
    // Narrowed refusals point at a schema that says it.
    if (name === 'allOf') return []
    if (name !== 'properties') return silentFields(value, at)
    return Object.entries(value as Record<string, Schema & { description?: string }>).flatMap(
      ([field, schema]) => [
        ...(schema.description === undefined ? [`${at}/${field}`] : []),
        ...silentFields(schema, `${at}/${field}`),
      ],
    )
  })
}

describe('the documents', () => {
  it.each(made)('the documents are OpenAPI 3.1 ($version)', async ({ document }) => {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    expect(errors ?? []).toEqual([])
    expect(valid).toBe(true)
  })

  it('the documents are the same each time they are made', () => {
    const again = openApiDocuments({ rows: routeRows, publicBaseUrl: 'http://127.0.0.1:8080' })
    expect(again).toEqual(documents)
  })

  it('the documents hold every route of their version, and nothing else', () => {
    const documented = operations().map(({ name, version }) => `${version} ${name}`)
    const routed = routeRows.map(({ method, path, version }) => `${version} ${method} ${path}`)
    expect(documented.toSorted()).toEqual(routed.toSorted())
  })

  it('the documents name each operation once', () => {
    const ids = operations().map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('the documents describe the fields of the very schemas that check requests', () => {
    for (const row of routeRows) {
      const operation = operations().find(({ name }) => name === `${row.method} ${row.path}`)
      const body =
        resolved(operation?.requestBody?.content['application/json']?.schema).properties ?? {}
      const { properties: wanted = {} }: Schema = row.body?.schema ?? {}
      expect(Object.keys(body)).toEqual(Object.keys(wanted))
      const query = (operation?.parameters ?? []).flatMap(({ name }) => name ?? [])
      expect(query).toEqual(Object.keys(row.query.schema.properties))
    }
  })

  it('the documents say of every field what it means', () => {
    expect(made.flatMap(({ document }) => silentFields(document))).toEqual([])
    const parameters = operations().flatMap(({ name, parameters: all }) =>
      all.filter(({ $ref, description }) => $ref === undefined && !description).map(() => name),
    )
    expect(parameters).toEqual([])
  })

  it('the documents give each operation an example', () => {
    const without = operations().filter(({ 'x-codeSamples': samples }) => samples.length === 0)
    expect(without).toEqual([])
  })

  it.each(made)(
    'the documents are the committed ones ($version)',
    async ({ version, document }) => {
      const text = `${JSON.stringify(document, null, 2)}\n`
      await expect(text).toMatchFileSnapshot(`../../docs/openapi/${version}.json`)
    },
  )
})
