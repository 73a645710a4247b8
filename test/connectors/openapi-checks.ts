// Holds the calls and answers of a provider that a test simulates against its OpenAPI document.
import type { IncomingMessage } from 'node:http'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Schema = Record<string, unknown>
type Content = Record<string, { schema: Schema }>
type Response = { content?: Content }
type Operation = {
  parameters?: ({ $ref: string } | Parameter)[]
  requestBody?: { content: Content }
  responses: Record<string, Response>
}
type Parameter = {
  name: string
  in: string
  required?: boolean
  style?: string
  schema: Schema
}

/** The parts of a document that are checked. */
export type OpenApi = {
  paths: Record<string, Record<string, Operation>>
  components: {
    parameters?: Record<string, Parameter>
    schemas: Record<string, Schema & { example?: unknown }>
  }
}

/** What a simulated provider answers. */
export type MockResponse = { status: number; body?: object }

/** Makes the checks. What is not as the document says is added to the violations. `readBody` reads the text of a request. */
export function createChecks(
  document: OpenApi,
  violations: string[],
  readBody: (text: string) => unknown = JSON.parse,
) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  // Texts of queries and forms are numbers where the document says so.
  const coercing = new Ajv2020({ strict: false, allErrors: true, coerceTypes: true })
  for (const one of [ajv, coercing]) {
    addFormats.default(one)
    // Stripe's name of a number of seconds.
    one.addFormat('unix-time', true)
    one.addSchema({ $id: 'document', components: nullableBeside(document.components) as object })
  }
  const isValid = (by: Ajv2020, schema: Schema, value: unknown, where: string) => {
    const text = JSON.stringify(nullableBeside(schema)).replaceAll('"#/', '"document#/')
    const isRight = by.validate(JSON.parse(text) as Schema, value)
    if (!isRight) violations.push(`${where}: ${by.errorsText()}`)
    return isRight
  }
  const parameterOf = (one: { $ref: string } | Parameter): Parameter => {
    if (!('$ref' in one)) return one
    const found = document.components.parameters?.[one.$ref.split('/').at(-1) ?? '']
    if (found === undefined) throw new Error(`no parameter ${one.$ref}`)
    return found
  }
  return {
    request(request: IncomingMessage, url: string, text: string): Operation | undefined {
      const { method = '', headers } = request
      const { pathname: path, searchParams } = new URL(url, 'http://localhost')
      const segments = path.split('/')
      const template = Object.keys(document.paths).find((one) =>
        new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
      )
      const operation = document.paths[template ?? '']?.[method.toLowerCase()]
      if (template === undefined || operation === undefined)
        return void violations.push(`${method} ${path} is not described`)
      const query = readForm(searchParams)
      const valueOf = ({ name, in: place, style }: Parameter) => {
        if (place === 'header') return headers[name.toLowerCase()]
        if (place === 'query')
          return style === 'deepObject' ? query[name] : (searchParams.get(name) ?? undefined)
        return segments[template.split('/').indexOf(`{${name}}`)]
      }
      const parameters = (operation.parameters ?? []).map(parameterOf)
      const names = new Set(parameters.map(({ name }) => name))
      const other = Object.keys(query).find((name) => !names.has(name))
      if (other !== undefined)
        return void violations.push(`${method} ${path}: the query has ${other}`)
      const areRight = parameters.every((parameter) => {
        const { name, required, schema } = parameter
        const value = valueOf(parameter)
        if (value === undefined) return required !== true
        return isValid(coercing, schema, value, `${method} ${path} ${name}`)
      })
      const [content] = Object.entries(operation.requestBody?.content ?? {})
      if (content === undefined) return areRight ? operation : undefined
      const [type, { schema }] = content
      const by = type === 'application/json' ? ajv : coercing
      const isRight = isValid(by, schema, readBody(text), `${method} ${path}`)
      return areRight && isRight ? operation : undefined
    },
    answer({ responses }: Operation, path: string, { status, body }: MockResponse): void {
      const described = responses[status] ?? responses['default']
      if (described === undefined)
        return void violations.push(`${path}: ${status} is not described`)
      const schema = described.content?.['application/json']?.schema
      if (schema !== undefined) isValid(ajv, schema, body, `${path} ${status}`)
    },
  }
}

/** Reads a form or query as Stripe does: `a[b]=c` is an object, `a[0]=c` a list. */
export function readForm(text: string | URLSearchParams): Record<string, unknown> {
  const form: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const [, outer = '', inner] = /^([^[]+)(?:\[([^\]]+)\])?$/.exec(name) ?? []
    if (inner === undefined) form[outer] = value
    else if (/^\d+$/.test(inner)) form[outer] = [...((form[outer] as unknown[]) ?? []), value]
    else form[outer] = { ...(form[outer] as object), [inner]: value }
  }
  return form
}

/** The smallest object that the document allows for a schema: its required fields, null where that is allowed. */
export function sampleOf({ components }: OpenApi, name: string): Record<string, unknown> {
  const sample = (schema: Schema): unknown => {
    const { $ref, anyOf, enum: values, nullable, properties = {}, required = [], type } = schema
    if (nullable === true) return null
    if (typeof $ref === 'string')
      return sample(components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})
    if (Array.isArray(anyOf)) return sample(anyOf[0] as Schema)
    if (Array.isArray(values)) return values[0]
    if (type === 'object') {
      const fields = (required as string[]).map((field) => [
        field,
        sample((properties as Record<string, Schema>)[field] ?? {}),
      ])
      return Object.fromEntries(fields)
    }
    return samples[String(type)]
  }
  return sample(components.schemas[name] ?? {}) as Record<string, unknown>
}

const samples: Record<string, unknown> = {
  string: 'a_sample',
  integer: 1,
  number: 1,
  boolean: false,
  array: [],
}

/** OpenAPI 3.0 has `nullable` beside any schema, JSON Schema a type of its own. */
function nullableBeside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nullableBeside)
  if (typeof value !== 'object' || value === null) return value
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, nullableBeside(child)]),
  )
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest
}
