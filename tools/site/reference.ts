// Writes the reference of the API as Markdown, out of the OpenAPI and AsyncAPI documents: pages to read, without JavaScript.
import { readFileSync } from 'node:fs'
import { contractVersions } from '#core/text/contract-version.ts'
import { guideSample } from './guide-samples.ts'
import { anchorOf } from './markdown.ts'

type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  const?: unknown
  enum?: unknown[]
  description?: string
  required?: string[]
  properties?: Record<string, Schema>
  items?: Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
}
type Media = { schema: Schema; example?: unknown }
type Response = { $ref?: string; description: string; content?: Record<string, Media> }
type Parameter = {
  $ref?: string
  name: string
  required?: boolean
  description: string
  schema: Schema
}
type Operation = {
  operationId: string
  tags: string[]
  summary: string
  description: string
  parameters: Parameter[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response>
  'x-codeSamples': { label: string; source: string }[]
}
type OpenApi = {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
}
type Message = { summary: string; headers: Schema; payload: Schema }
type AsyncApi = {
  operations: Record<string, { title: string; description: string; channel: { $ref: string } }>
  channels: Record<string, { messages: Record<string, Schema> }>
}

/** What every call sends; the page of the rules that all routes share describes it. */
const commonParameters = new Set([
  'originCountry',
  'requestDate',
  'ipAddress',
  'userAgent',
  'requestId',
])
/** What most responses have, described there too. */
const envelope = new Set([
  'status',
  'code',
  'message',
  'request_id',
  'timestamp',
  'observed_client_ip',
])

function readDocument(name: string): unknown {
  return JSON.parse(
    readFileSync(new URL(`../../docs/openapi/${name}.json`, import.meta.url), 'utf8'),
  )
}

/** What a value points to within its document, with what stands beside the pointer. */
function resolved<T extends { $ref?: string }>(document: unknown, value: T): T {
  if (value.$ref === undefined) return value
  const { $ref, ...beside } = value
  const found = $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], document)
  return resolved(document, { ...(found as T), ...beside })
}

/** A schema with all parts of its `allOf` in one. */
function merged(document: unknown, schema: Schema): Schema {
  const { allOf = [], ...own } = resolved(document, schema)
  return [own, ...allOf.map((part) => merged(document, part))].reduce((sum, part) => ({
    ...sum,
    ...part,
    required: [...(sum.required ?? []), ...(part.required ?? [])],
    properties: Object.fromEntries(
      [...Object.entries(sum.properties ?? {}), ...Object.entries(part.properties ?? {})].map(
        ([name, value]) => [name, { ...sum.properties?.[name], ...value }],
      ),
    ),
  }))
}

function typeOf(schema: Schema): string {
  const { type, format, const: only, enum: values, anyOf, oneOf } = schema
  if (only !== undefined) return code(only)
  if (values !== undefined) return values.map(code).join(', ')
  const kinds = anyOf ?? oneOf
  if (kinds !== undefined) return [...new Set(kinds.map((kind) => typeOf(kind)))].join(' or ')
  const name = [type ?? 'object'].flat().join(' or ')
  return format === undefined ? name : `${name}, ${format}`
}

const code = (value: unknown) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

/** One row for each field, those of inner objects below their own, with the path to them. */
function rows(document: unknown, schema: Schema, path = '', isLeft = new Set<string>()): string[] {
  const { properties = {}, required = [], items, anyOf, oneOf } = merged(document, schema)
  if (items !== undefined) return rows(document, items, `${path}[]`)
  const inner = (anyOf ?? oneOf ?? []).flatMap((kind) => rows(document, kind, path))
  const own = Object.entries(properties)
    .filter(([name]) => !isLeft.has(name))
    .flatMap(([name, value]) => {
      const fullPath = path === '' ? name : `${path}.${name}`
      const field = merged(document, value)
      const kind = field.items === undefined ? typeOf(field) : 'array'
      const need = required.includes(name) ? 'yes' : ''
      return [
        `| \`${fullPath}\` | ${cell(kind)} | ${need} | ${cell(field.description ?? '')} |`,
        ...rows(document, field, fullPath),
      ]
    })
  return [...new Set([...own, ...inner])]
}

function table(title: string, lines: string[]): string[] {
  if (lines.length === 0) return []
  return ['', title, '', '| field | type | required | meaning |', '|---|---|---|---|', ...lines]
}

function slugOf(tag: string): string {
  return `reference-${tag.toLowerCase().replaceAll(' ', '-')}`
}

type Found = {
  document: OpenApi
  version: string
  method: string
  path: string
  operation: Operation
}

function operationsOf(tag: string, version: string, document: OpenApi): Found[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({
        document,
        version,
        method: method.toUpperCase(),
        path,
        operation,
      })),
  )
}

function operationText({ document, version, method, path, operation }: Found): string[] {
  const parameters = operation.parameters
    .filter(({ $ref }) => !commonParameters.has($ref?.split('/').at(-1) ?? ''))
    .map((one) => resolved(document, one))
    .map(
      ({ name, schema, required, description }) =>
        `| \`${name}\` | ${cell(typeOf(merged(document, schema)))} | ${required === true ? 'yes' : ''} | ${cell(description)} |`,
    )
  const bodies = Object.entries(operation.requestBody?.content ?? {}).flatMap(
    ([type, { schema }]) => table(`Body, \`${type}\`:`, rows(document, schema)),
  )
  const anchor = `${encodeURIComponent(operation.tags[0] ?? '')}/${operation.operationId}`
  return [
    `## ${operation.summary}`,
    '',
    `\`${method} ${path}\` · [try it](try-it?urls.primaryName=${version}#/${anchor})`,
    '',
    operation.description,
    ...table(
      'Parameters, beside the [headers of every call](integrate/api.md#every-call):',
      parameters,
    ),
    ...bodies,
    ...operation['x-codeSamples'].flatMap(({ label, source }) => [
      '',
      `${label}:`,
      '',
      '```sh',
      source,
      '```',
    ]),
    ...guideText(method, path),
    ...Object.entries(operation.responses).flatMap(([status, response]) =>
      responseText(document, status, resolved(document, response)),
    ),
    '',
    `Errors: ${errorsOf(document, operation)}`,
    '',
  ]
}

const labels: Record<string, string> = { ts: 'TypeScript', python: 'Python', php: 'PHP' }

/** The samples of the guide that calls an operation. */
function guideText(method: string, path: string): string[] {
  const sample = guideSample(method, path)
  if (sample === undefined) return []
  const { guide, heading, blocks } = sample
  return blocks.flatMap(({ language, code }) => [
    '',
    `${labels[language] ?? language}, from [${heading}](guides/${guide}.md#${anchorOf(heading)}):`,
    '',
    `\`\`\`${language}\n${code}\`\`\``,
  ])
}

function responseText(
  document: OpenApi,
  status: string,
  { description, content }: Response,
): string[] {
  if (!status.startsWith('2')) return []
  const { schema, example } = content?.['application/json'] ?? { schema: {} }
  return [
    '',
    `### ${status}`,
    '',
    description,
    ...table(
      'Beside the [envelope](integrate/api.md#every-call):',
      rows(document, schema, '', envelope),
    ),
    ...(example === undefined ? [] : ['', '```json', JSON.stringify(example, null, 2), '```']),
  ]
}

/** The error codes of an operation by HTTP status, with links to the catalogue. */
function errorsOf(document: OpenApi, { responses }: Operation): string {
  return Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .map(([status, response]) => {
      const { description } = resolved(document, response)
      const codes = [...description.matchAll(/^`([A-Z_]+)`:/gm)].map(([, name = '']) => name)
      return `${status} ${codes.map((name) => `[${name}](integrate/errors.md#${name})`).join(', ')}`
    })
    .join('; ')
}

function documents(): { version: string; document: OpenApi }[] {
  return contractVersions.map((version) => ({
    version,
    document: readDocument(version) as OpenApi,
  }))
}

/** A page for each tag. */
export function operationPages(): { slug: string; markdown: string }[] {
  return documents().flatMap(({ version, document }) =>
    document.tags.map(({ name, description }) => ({
      slug: slugOf(name),
      markdown: [
        `# ${name}`,
        '',
        `${description} Contract version \`${version}\`.`,
        '',
        ...operationsOf(name, version, document).flatMap(operationText),
      ].join('\n'),
    })),
  )
}

/** The page that lists every operation. */
export function operationIndex(): string {
  const lines = documents().flatMap(({ version, document }) => [
    `## Version ${version}`,
    '',
    `The document: [openapi.json](openapi/${version}.json). To send requests from the page: [try it](try-it?urls.primaryName=${version}).`,
    '',
    '| operation | what it does |',
    '|---|---|',
    ...document.tags.flatMap(({ name }) =>
      operationsOf(name, version, document).map(
        ({ method, path, operation: { summary } }) =>
          `| \`${method} ${path}\` | [${summary}](${slugOf(name)}#${anchorOf(summary)}) |`,
      ),
    ),
    '',
  ])
  return [
    '# API reference',
    '',
    'Every operation, by contract version. [Every call](integrate/api.md#every-call) describes the headers and the envelope that all of them share.',
    '',
    ...lines,
  ].join('\n')
}

/** The page of what is pushed to merchants: headers and fields of each body. */
export function pushReference(): string {
  const document = readDocument('asyncapi') as AsyncApi
  const parts = Object.values(document.operations).flatMap(({ title, description, channel }) => {
    const { messages } = resolved(document, channel as Schema) as unknown as {
      messages: Record<string, Schema>
    }
    const all = Object.entries(messages).map(
      ([name, message]) => [name, resolved(document, message) as unknown as Message] as const,
    )
    const headers = all[0]?.[1].headers ?? {}
    return [
      `## ${title}`,
      '',
      description,
      ...table('Headers:', rows(document, headers)),
      ...all.flatMap(([name, { summary, payload }]) => [
        '',
        `### \`${name}\``,
        '',
        summary,
        ...table('Body:', rows(document, payload)),
      ]),
      '',
    ]
  })
  return [
    '# Pushes',
    '',
    'The fields of every push, from the [AsyncAPI document](openapi/asyncapi.json). [Pushes](integrate/events.md) explains how to receive them, [examples](integrate/push-examples.md) shows a body of each.',
    '',
    ...parts,
  ].join('\n')
}
