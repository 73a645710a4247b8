// Makes the OpenAPI document of a contract version out of the rows that serve it.

import { type Reason, reasons } from '#core/errors/errors.ts'
import { type ContractVersion, contractVersions } from '#core/text/contract-version.ts'
import type { RouteRow } from '../http/route.ts'
import { accountOperations } from '../routes/account/docs.ts'
import { billOperations } from '../routes/bill-payments/docs.ts'
import { merchantOperations } from '../routes/merchant/docs.ts'
import { institutionOperations, quoteOperations } from '../routes/money-docs.ts'
import { paymentOperations } from '../routes/payments/docs.ts'
import { describedSchema, type JsonSchema } from './described-schema.ts'
import {
  narrowedRefusal,
  refusalName,
  refusalSchema,
  refusalsOf,
  successSchema,
} from './envelopes.ts'
import type { Operation, OperationName, Operations } from './operation.ts'
import { answerHeaders, parametersOf, requestHeaders } from './parameters.ts'
import { exampleWriter, type WriteExample, withoutShell } from './shell-examples.ts'
import { webhooks } from './webhooks.ts'

/** The words for every route. */
export const operations: Operations = {
  ...paymentOperations,
  ...accountOperations,
  ...institutionOperations,
  ...quoteOperations,
  ...billOperations,
  ...merchantOperations,
}

const titles: Record<ContractVersion, string> = {
  '2024-10-01': 'Payweave API: payments, accounts, quotes and institution transactions',
  '2026-07-01': 'Payweave API: bill payments',
  '2026-12-01': 'Payweave API, extension: lists, history and refunds of payments, and pushes',
}

/** What a document is made from. */
export type DocumentOptions = { rows: readonly RouteRow[]; publicBaseUrl: string }

/** The document of one version. */
export function openApiDocument(
  version: ContractVersion,
  { rows, publicBaseUrl }: DocumentOptions,
): JsonSchema {
  const own = rows.filter((row) => row.version === version)
  const write = exampleWriter((name) => {
    const row = rows.find((candidate) => nameOf(candidate) === name)
    const [example] = Object.values(operationOf(name).examples)
    if (row === undefined || example === undefined) throw new Error(`no example of ${name}`)
    return { row, example }
  })
  const paths: Record<string, JsonSchema> = {}
  for (const row of own) {
    const operation = renderOperation(row, operationOf(nameOf(row)), write)
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operation }
  }
  const tags = [...new Set(own.map((row) => operationOf(nameOf(row)).tag))]
  return {
    openapi: '3.1.0',
    info: { title: titles[version], version, description: introduction(version, publicBaseUrl) },
    externalDocs: otherDocument(version, publicBaseUrl),
    servers: [{ url: publicBaseUrl, description: 'This deployment.' }],
    security: [{ subscriptionKey: [] }],
    tags: tags.map((name) => ({ name })),
    paths,
    ...(version === '2024-10-01' ? { webhooks } : {}),
    components: components(own),
  }
}

function nameOf({ method, path }: RouteRow): OperationName {
  return `${method} ${path}` as OperationName
}

function operationOf(name: OperationName): Operation {
  const operation = operations[name]
  if (operation === undefined) throw new Error(`${name} has no entry in the documents`)
  return operation
}

function introduction(version: ContractVersion, publicBaseUrl: string): string {
  const others = contractVersions.filter((other) => other !== version)
  return [
    `Every call has the query parameter \`version=${version}\` and the common headers. Every response is a JSON envelope with \`status\`, \`code\` (the HTTP status) and \`message\`, and has the header \`PW-request-id\`. Amounts are strings. The API ignores unknown fields of a body and names them in the header \`PW-Warning\`.`,
    'The examples need the variables of `sandbox.env` of a local start in the shell.',
    ...others.map(
      (other) =>
        `The contract of ${other}: [${other}](${publicBaseUrl}/openapi.json?version=${other}).`,
    ),
  ].join('\n\n')
}

function otherDocument(version: ContractVersion, publicBaseUrl: string): JsonSchema {
  const other = contractVersions.find((candidate) => candidate !== version)
  return {
    description: `Document of the contract ${other}.`,
    url: `${publicBaseUrl}/openapi.json?version=${other}`,
  }
}

function renderOperation(row: RouteRow, operation: Operation, write: WriteExample): JsonSchema {
  const { id, tag, summary, description, examples } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    parameters: parametersOf(row),
    ...(row.body === undefined ? {} : { requestBody: requestBody(row, operation) }),
    responses: { ...successes(row, operation), ...refusals(row, operation) },
    'x-codeSamples': Object.entries(examples).map(([label, example]) => ({
      lang: 'Shell',
      label,
      source: write(row, example),
    })),
  }
}

function requestBody(row: RouteRow, { examples }: Operation): JsonSchema {
  const shown = Object.entries(examples).filter(([, { body }]) => body !== undefined)
  const json = {
    schema: row.body === undefined ? {} : describedSchema(row.body.schema),
    examples: Object.fromEntries(
      shown.map(([summary, { body = {} }], index) => [
        `example${index + 1}`,
        { summary, value: withoutShell(body) },
      ]),
    ),
  }
  const form = row.form === undefined ? {} : { 'multipart/form-data': formBody(row.form) }
  return { required: true, content: { 'application/json': json, ...form } }
}

function formBody({ check, files }: NonNullable<RouteRow['form']>): JsonSchema {
  const schema = describedSchema(check.schema)
  const names = [...files]
  const accepted = { contentType: 'image/jpeg, image/png, application/pdf' }
  const artefact = {
    type: 'string',
    contentMediaType: 'application/octet-stream',
    description: 'JPEG, PNG or PDF by its content, 10 MiB at most.',
  }
  return {
    schema: {
      ...schema,
      properties: {
        ...(schema['properties'] as JsonSchema),
        ...Object.fromEntries(names.map((name) => [name, artefact])),
      },
    },
    encoding: Object.fromEntries(names.map((name) => [name, accepted])),
  }
}

function successes(row: RouteRow, { successes: found }: Operation): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(found).map(([code, success]) => [
      code,
      {
        description: success.says,
        headers: headersOf([
          'PW-request-id',
          ...warningOf(row),
          ...limitHeaders,
          'Deprecation',
          'Sunset',
          ...(success.headers ?? []),
        ]),
        content: { 'application/json': { schema: successSchema(row, Number(code), success) } },
      },
    ]),
  )
}

function refusals(row: RouteRow, operation: Operation): Record<string, JsonSchema> {
  return Object.fromEntries(
    [...refusalsOf(row, operation)].map(([code, found]) => [
      String(code),
      {
        description: found
          .map((reason) => `\`${reason}\`: ${reasons[reason].meaning}`)
          .join('\n\n'),
        headers: headersOf([
          'PW-request-id',
          ...warningOf(row),
          ...limitHeaders,
          ...found.flatMap((reason) => headerOf(reason, code)),
        ]),
        content: {
          'application/json': { schema: narrowedRefusal(row, code, found, operation) },
        },
      },
    ]),
  )
}

const limitHeaders = ['RateLimit-Policy', 'RateLimit']

function warningOf({ body }: RouteRow): string[] {
  return body === undefined ? [] : ['PW-Warning']
}

function headerOf(reason: Reason, code: number): string[] {
  if (reason === 'METHOD_NOT_ALLOWED') return ['Allow']
  const isRetried = 'retryAfterS' in reasons[reason] || code === 503 || code === 504
  return isRetried ? ['Retry-After'] : []
}

function headersOf(names: readonly string[]): JsonSchema {
  return Object.fromEntries(
    [...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

function components(rows: readonly RouteRow[]): JsonSchema {
  const forms = [...new Set(rows.map(({ envelope }) => envelope))]
  return {
    securitySchemes: {
      subscriptionKey: {
        type: 'apiKey',
        in: 'header',
        name: 'PW-subscription-key',
        description:
          'Subscription key of your project, 32 characters. A local start writes test keys to `sandbox.json`.',
      },
    },
    parameters: requestHeaders,
    headers: answerHeaders,
    schemas: Object.fromEntries(forms.map((form) => [refusalName(form), refusalSchema(form)])),
  }
}
