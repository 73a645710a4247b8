// Serves the OpenAPI documents, the AsyncAPI document of the pushes, the viewer and the documentation site, without a key.
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { type ContractVersion, contractVersions } from '#core/text/contract-version.ts'
import { acceptsGzip } from '../http/body/media-type.ts'
import type { OpenPaths } from '../http/failures.ts'
import type { RouteRow } from '../http/route.ts'
import type { EdgeSettings } from '../options.ts'
import { isFromThisMachine } from './viewer-keys.ts'
import { viewerInitializer, viewerPage, viewerStyle } from './viewer-page.ts'

const [defaultVersion] = contractVersions
const pushes = 'pushes'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
}
const typeOf = (name: string) => types[path.extname(name)] ?? 'application/octet-stream'

const viewerFolder = new URL('./static/', import.meta.resolve('@fastify/swagger-ui'))
/** Files of packages, by their names below `/docs`. */
const libraryFiles: Readonly<Record<string, URL>> = {
  'swagger-ui.css': new URL('swagger-ui.css', viewerFolder),
  'swagger-ui-bundle.js': new URL('swagger-ui-bundle.js', viewerFolder),
  'swagger-ui-standalone-preset.js': new URL('swagger-ui-standalone-preset.js', viewerFolder),
  'favicon-32x32.png': new URL('favicon-32x32.png', viewerFolder),
  'minisearch.js': new URL(import.meta.resolve('minisearch')),
}
/** The files of the viewer that are made here. */
const viewerFiles: Readonly<Record<string, string>> = {
  'try-it.html': viewerPage,
  'try-it.css': viewerStyle,
  'try-it.js': viewerInitializer(contractVersions),
}
/** The documentation, as `npm run site` builds it. */
const siteFolder = new URL('../../docs/site/', import.meta.url)
const siteFiles = readdirSync(siteFolder)

/** Where a file is served: pages without their ending, the first one at `/docs`. */
function pathOf(name: string): string {
  return name === 'index.html' ? '/docs' : `/docs/${name.replace(/\.html$/, '')}`
}

const viewerKeysFile = 'try-it-keys.json'
const publicPaths = [
  ...Object.keys(libraryFiles),
  ...Object.keys(viewerFiles),
  viewerKeysFile,
  ...siteFiles,
].map(pathOf)

/** What is served here, for the table of routes. */
export const documentPaths: OpenPaths = [
  { pattern: /^\/(openapi|asyncapi)\.json$/, allow: 'GET' },
  { pattern: /^\/docs\/$/, allow: 'GET' },
  { pattern: new RegExp(`^(${publicPaths.join('|').replaceAll('.', '\\.')})$`), allow: 'GET' },
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
 * Registers `/openapi.json`, `/asyncapi.json`, `/docs` and what is below it. Returns the function that makes all of them, one after the other. A
 * request before that makes its own file. Requests at the same time share one making.
 */
export function registerDocuments(
  app: FastifyInstance,
  rows: readonly RouteRow[],
  { publicBaseUrl, viewerKeys }: Pick<EdgeSettings, 'publicBaseUrl' | 'viewerKeys'>,
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
  // Relative, so that it also leads there behind a prefix.
  app.get('/docs/', (_, reply) => reply.redirect('../docs', 308))
  app.get(pathOf(viewerKeysFile), ({ socket, headers }, reply) => {
    const isServed = isFromThisMachine(socket.remoteAddress, headers)
    return reply.header('cache-control', 'no-store').send(isServed ? (viewerKeys ?? {}) : {})
  })
  for (const [name, content] of Object.entries(viewerFiles)) {
    page(pathOf(name), () => served(typeOf(name), content))
  }
  for (const [name, file] of Object.entries(libraryFiles)) {
    page(pathOf(name), async () => served(typeOf(name), await readFile(file)))
  }
  for (const name of siteFiles) {
    page(pathOf(name), async () => served(typeOf(name), await readFile(new URL(name, siteFolder))))
  }
  return async () => {
    for (const name of makers.keys()) await once(name)
  }
}

function askedVersion(given: unknown): ContractVersion {
  if (given === undefined) return defaultVersion
  const version = contractVersions.find((candidate) => candidate === given)
  if (version !== undefined) return version
  const message = `version must be one of ${contractVersions.join(', ')}.`
  throw new Failure('VERSION_NOT_SUPPORTED', message, { details: { field: 'version' } })
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
