// Serves the OpenAPI documents, the AsyncAPI document of the pushes, and the pages that show them, without a key.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { type ContractVersion, contractVersions } from '#core/text/contract-version.ts'
import { acceptsGzip } from '../http/body/media-type.ts'
import { errorPagePath } from '../http/envelope.ts'
import type { OpenPaths } from '../http/failures.ts'
import type { RouteRow } from '../http/route.ts'
import { docsInitializer, docsPage, docsStyle } from './docs-page.ts'
import { errorPage, errorPageStyle } from './error-page.ts'

const [defaultVersion] = contractVersions
const pushes = 'pushes'

/** Files of the page, out of the library's own. */
const libraryFiles: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/** What is served here, for the table of routes. */
export const documentPaths: OpenPaths = [
  { pattern: /^\/openapi\.json$/, allow: 'GET' },
  { pattern: /^\/asyncapi\.json$/, allow: 'GET' },
  { pattern: /^\/docs$/, allow: 'GET' },
  { pattern: new RegExp(`^${errorPagePath}$`), allow: 'GET' },
  ...[...Object.keys(libraryFiles), 'start.js', 'page.css', 'errors.css'].map((name) => ({
    pattern: new RegExp(`^/docs/${name.replaceAll('.', '\\.')}$`),
    allow: 'GET',
  })),
]

/** Nothing from elsewhere, nothing inline. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

type Served = { type: string; plain: Buffer; zipped: Buffer; tag: string }
type ServedRequest = FastifyRequest<{ Querystring: Record<string, unknown> }>

const zip = promisify(gzip)

/**
 * Registers `/openapi.json`, `/asyncapi.json`, `/docs` and its files, and the page of error codes. Returns the function that makes all of them, one after the other. A
 * request before that makes its own file. Requests at the same time share one making.
 */
export function registerDocuments(
  app: FastifyInstance,
  rows: readonly RouteRow[],
  publicBaseUrl: string,
): () => Promise<void> {
  const made = new Map<string, Promise<Served>>()
  const makers = new Map<string, () => Promise<Served>>()
  const once = (name: string): Promise<Served> => {
    const found = made.get(name) ?? (makers.get(name) as () => Promise<Served>)()
    made.set(name, found)
    // What could not be made is tried again by the next request.
    found.catch(() => made.delete(name))
    return found
  }
  const page = (path: string, make: () => Promise<Served>) => {
    makers.set(path, make)
    app.get(path, async (request, reply) => {
      void reply.header('content-security-policy', contentPolicy)
      return sendServed(request, reply, await once(path))
    })
  }

  let documents: ReturnType<typeof makeDocuments> | undefined
  for (const version of contractVersions) {
    makers.set(version, async () => {
      documents ??= makeDocuments(rows, publicBaseUrl)
      return served('application/json; charset=utf-8', JSON.stringify((await documents)[version]))
    })
  }
  makers.set(pushes, async () => {
    const { asyncApiDocument } = await import('./async-api.ts')
    documents ??= makeDocuments(rows, publicBaseUrl)
    const { [defaultVersion]: describing } = await documents
    return served('application/json; charset=utf-8', JSON.stringify(asyncApiDocument(describing)))
  })
  const document = (path: string, nameOf: (request: ServedRequest) => string) =>
    app.get(path, async (request: ServedRequest, reply) => {
      const asset = await once(nameOf(request))
      // A browser that shows the document requests nothing more, such as an icon.
      void reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
      return sendServed(request, reply, asset)
    })
  document('/openapi.json', ({ query }) => askedVersion(query['version']))
  document('/asyncapi.json', () => pushes)
  page('/docs', () => served('text/html; charset=utf-8', docsPage))
  page('/docs/page.css', () => served('text/css; charset=utf-8', docsStyle))
  page(errorPagePath, () => served('text/html; charset=utf-8', errorPage()))
  page('/docs/errors.css', () => served('text/css; charset=utf-8', errorPageStyle))
  page('/docs/start.js', () =>
    served('text/javascript; charset=utf-8', docsInitializer(contractVersions)),
  )
  for (const [name, type] of Object.entries(libraryFiles)) {
    page(`/docs/${name}`, async () => served(type, await readFile(libraryFile(name))))
  }
  return async () => {
    for (const name of makers.keys()) await once(name)
  }
}

function askedVersion(given: unknown): ContractVersion {
  if (given === undefined) return defaultVersion
  const version = contractVersions.find((candidate) => candidate === given)
  if (version !== undefined) return version
  throw new Failure(
    'VERSION_NOT_SUPPORTED',
    `version must be one of ${contractVersions.join(', ')}.`,
  )
}

async function makeDocuments(rows: readonly RouteRow[], publicBaseUrl: string) {
  const { openApiDocuments } = await import('./document.ts')
  return openApiDocuments({ rows, publicBaseUrl })
}

async function served(type: string, content: string | Buffer): Promise<Served> {
  const plain = Buffer.from(content)
  const tag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  return { type, plain, zipped: await zip(plain), tag }
}

function libraryFile(name: string): URL {
  return new URL(`./static/${name}`, import.meta.resolve('@fastify/swagger-ui'))
}

function sendServed(request: FastifyRequest, reply: FastifyReply, asset: Served): FastifyReply {
  void reply.headers({
    'content-type': asset.type,
    // Cached, and revalidated each time: after an update no reader sees an old contract.
    'cache-control': 'no-cache',
    etag: asset.tag,
    vary: 'accept-encoding',
  })
  if (request.headers['if-none-match'] === asset.tag) return reply.code(304).send()
  const isZipped = acceptsGzip(request.headers['accept-encoding'] ?? '')
  if (!isZipped) return reply.send(asset.plain)
  return reply.header('content-encoding', 'gzip').send(asset.zipped)
}
