// Makes the OpenAPI documents of the contract versions out of the rows that serve them.
import { isDeepStrictEqual } from 'node:util'
import { type ContractVersion, contractVersions } from '#core/text/contract-version.ts'
import type { RouteRow } from '../http/route.ts'
import { accountOperations } from '../routes/account/docs.ts'
import { billOperations } from '../routes/bill-payments/docs.ts'
import { merchantOperations } from '../routes/merchant/docs.ts'
import { institutionOperations, quoteOperations } from '../routes/money-docs.ts'
import { paymentOperations } from '../routes/payments/docs.ts'
import answers from './answer-examples.json' with { type: 'json' }
import { describedSchema, type JsonSchema } from './described-schema.ts'
import { refusalName, refusalSchema, successSchema } from './envelopes.ts'
import { nameSchemas } from './named-schemas.ts'
import type { Operation, OperationName, Operations, Tag } from './operation.ts'
import {
  answerHeaders,
  headersOf,
  limitHeaders,
  parametersOf,
  requestHeaders,
} from './parameters.ts'
import { type Components, referencesIn } from './references.ts'
import { refusalResponses } from './refusals.ts'
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

/** One response of each success, by operation and status. */
const answerExamples: Record<string, Record<string, object>> = answers

/** The groups of operations. */
const tags: Record<Tag, string> = {
  Accounts: 'Look-ups with sessions, profiles, consent, balances and histories of accounts.',
  'Bill payments': "Payments to billers from the project's float, with receipts.",
  'Institution transactions': 'Transfers between accounts, and their quotes.',
  'Payment requests': 'Requests to one or more payers, each with a link to a hosted page.',
  'Payments of a merchant': 'Lists, history and refunds of your payment requests.',
  'Pushes of a merchant': 'What was pushed to your URLs, and how to push it again.',
  Quotes: 'Prices for an exchange or a transfer.',
}

/** What a document is made from. */
export type DocumentOptions = { rows: readonly RouteRow[]; publicBaseUrl: string }

/** The documents, with a name for each object. */
export function openApiDocuments(options: DocumentOptions): Record<ContractVersion, JsonSchema> {
  // Copies: parts of the documents are constants that others use too.
  const documents = contractVersions.map((version) =>
    structuredClone(plainDocument(version, options)),
  )
  nameSchemas(documents)
  for (const document of documents) keepUsed(document)
  return Object.fromEntries(
    contractVersions.map((version, index) => [version, documents[index]]),
  ) as Record<ContractVersion, JsonSchema>
}

/** The document of one version; its objects stand where they are used. */
export function plainDocument(
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
  const responses: Record<string, JsonSchema> = {}
  for (const row of own) {
    const words = operationOf(nameOf(row))
    const refusals = refusalResponses(row, words, publicBaseUrl)
    for (const { name, response } of Object.values(refusals)) {
      if (!isDeepStrictEqual(responses[name] ?? response, response))
        throw new Error(`two responses are named ${name}`)
      responses[name] = response
    }
    const references = Object.entries(refusals).map(([code, { name }]) => [
      code,
      { $ref: `#/components/responses/${name}` },
    ])
    const operation = renderOperation(row, words, write)
    const all = { ...(operation['responses'] as JsonSchema), ...Object.fromEntries(references) }
    paths[row.path] = {
      ...paths[row.path],
      [row.method.toLowerCase()]: { ...operation, responses: all },
    }
  }
  const used = [...new Set(own.map((row) => operationOf(nameOf(row)).tag))].toSorted()
  return {
    openapi: '3.1.0',
    info: {
      title: titles[version],
      version,
      description: introduction(version, publicBaseUrl),
      contact: { name: 'Payweave', url: `${publicBaseUrl}/docs` },
    },
    externalDocs: otherDocument(version, publicBaseUrl),
    servers: [{ url: publicBaseUrl, description: 'This deployment.' }],
    security: [{ subscriptionKey: [] }],
    tags: used.map((name) => ({ name, description: tags[name] })),
    paths,
    ...(version === '2024-10-01' ? { webhooks } : {}),
    components: components(own, responses),
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
    responses: successes(row, operation),
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

function successes(row: RouteRow, operation: Operation): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(operation.successes).map(([code, success]) => [
      code,
      {
        description: success.says,
        headers: headersOf([
          'PW-request-id',
          ...(row.body === undefined ? [] : ['PW-Warning']),
          ...limitHeaders,
          'Deprecation',
          'Sunset',
          ...(success.headers ?? []),
        ]),
        content: {
          'application/json': {
            schema: successSchema(row, Number(code), success),
            example: answerExamples[operation.id]?.[code],
          },
        },
      },
    ]),
  )
}

function components(rows: readonly RouteRow[], responses: Record<string, JsonSchema>): JsonSchema {
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
    responses,
    schemas: Object.fromEntries(forms.map((form) => [refusalName(form), refusalSchema(form)])),
  }
}

/** Removes parameters, headers and schemas that a document does not use, in place. */
function keepUsed(document: JsonSchema): void {
  const components = document['components'] as Components
  const used = referencesIn([document['paths'], document['webhooks'] ?? {}], components)
  for (const kind of ['parameters', 'headers', 'schemas']) {
    const all = Object.entries(components[kind] ?? {})
    components[kind] = Object.fromEntries(all.filter(([name]) => used.has(`${kind}/${name}`)))
  }
}
