// Holds what a client sees against the committed OpenAPI documents; it must not import the product's code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Json = Record<string, unknown>
type Response = {
  $ref?: string
  content?: Record<string, { schema: Json }>
  headers?: Record<string, Json>
}
type Operation = { responses: Record<string, Response> }
type Document = {
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<
    string,
    { post: { requestBody: { content: Record<string, { schema: Json }> } } }
  >
  components: Json & { responses: Record<string, Response> }
}

/** An answer, and what was asked for. */
export type Exchange = {
  method: string
  path: string
  status: number
  headers: Headers
  text: string
}

const folder = join(import.meta.dirname, '..', '..', 'docs', 'openapi')
const documents = ['2024-10-01', '2026-07-01', '2026-12-01'].map(
  (version) => JSON.parse(readFileSync(join(folder, `${version}.json`), 'utf8')) as Document,
)

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
const compiled = new Map<string, ValidateFunction>()

const checkedHeaders = [
  'pw-request-id',
  'retry-after',
  'ratelimit-policy',
  'ratelimit',
  'allow',
  'idempotency-replayed',
]

/** Throws unless the answer is one that the document of its route holds, with no field beside those. Only HEAD is answered by nothing. */
export function expectDocumented(exchange: Exchange): void {
  const { method, path, status, headers, text } = exchange
  const where = `${method} ${path} ${status}`
  const document = documents.find(({ paths }) => paths[path] !== undefined)
  const operation = document?.paths[path]?.[method.toLowerCase()]
  if (document === undefined || method === 'HEAD') return
  const anyOperation = Object.values(document.paths[path] ?? {})[0]
  const shown = (operation ?? anyOperation)?.responses[String(status)]
  const named = document.components.responses[shown?.$ref?.split('/').at(-1) ?? '']
  const response = named ?? shown
  const schema = response?.content?.['application/json']?.schema
  if (response === undefined || schema === undefined)
    throw new Error(`${where}: no such answer\n${text}`)
  if (text === '') throw new Error(`${where}: the answer is empty`)
  const isNamed = operation === undefined ? `405 of ${path}` : where
  check(isNamed, schema, document, JSON.parse(text))
  const known = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()))
  for (const name of checkedHeaders) {
    if (headers.has(name) && !known.has(name))
      throw new Error(`${where}: ${name} is not documented`)
  }
  if (!headers.has('pw-request-id')) throw new Error(`${where}: PW-request-id is missing`)
}

/** Throws unless the body is that of the push of this name. */
export function expectDocumentedPush(
  name: 'notify' | 'callback' | 'onboarding',
  body: unknown,
): void {
  const [document] = documents
  const schema = document?.webhooks?.[name]?.post.requestBody.content['application/json']?.schema
  if (document === undefined || schema === undefined) throw new Error(`${name} is not documented`)
  check(`push ${name}`, schema, document, body)
}

function check(name: string, schema: Json, { components }: Document, value: unknown): void {
  const validate = compiled.get(name) ?? ajv.compile(closed({ ...schema, components }) as object)
  compiled.set(name, validate)
  if (validate(value)) return
  const problems = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
  throw new Error(`${name} is not as documented:\n${problems.join('\n')}\n${JSON.stringify(value)}`)
}

/** Clients must bear fields that are new to them; a test must not. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== 'object' || node === null) return node
  const schema = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, closed(value)]),
  )
  const isOpen = schema['type'] === 'object' && schema['properties'] !== undefined
  return isOpen && !('additionalProperties' in schema)
    ? { ...schema, additionalProperties: false }
    : schema
}
