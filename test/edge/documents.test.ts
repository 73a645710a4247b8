// The documents and their pages as anybody gets them, without a key.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publicReasons } from '#core/errors/errors.ts'
import { isFromThisMachine, readViewerKeys } from '../../gateway/openapi/viewer-keys.ts'
import { apiKey, type EdgeFixture, keys, startEdge } from './harness.ts'

const viewerKeys = { subscriptionKey: keys.demo, apiKey }
let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge({ viewerKeys })
})
afterAll(() => edge.close())

type Document = { info: { version: string }; paths: object; externalDocs: { url: string } }

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${edge.url}${path}`, { headers })

const pageFiles = [
  ['docs/swagger-ui.css', 'text/css'],
  ['docs/swagger-ui-bundle.js', 'text/javascript'],
  ['docs/swagger-ui-standalone-preset.js', 'text/javascript'],
  ['docs/try-it.css', 'text/css'],
  ['docs/try-it.js', 'text/javascript'],
  ['docs/minisearch.js', 'text/javascript'],
  ['docs/favicon-32x32.png', 'image/png'],
  ['docs/site.css', 'text/css'],
  ['docs/site.js', 'text/javascript'],
  ['docs/search.json', 'application/json'],
] as const
const sitePages = fs
  .readdirSync(path.join(import.meta.dirname, '../../docs/site'))
  .filter((name) => name.endsWith('.html') && name !== 'index.html')
  .map((name) => `docs/${name.replace('.html', '')}`)
const pages = ['docs', 'docs/try-it', ...sitePages]

describe('/openapi.json', () => {
  it('/openapi.json answers without a key, with the first version unless another is asked for', async () => {
    const answer = await get('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const document = (await answer.json()) as Document
    expect(document.info.version).toBe('2024-10-01')
    expect(document.paths).toHaveProperty('/payments/request')
    expect(new URL(document.externalDocs.url).search).toBe('?version=2026-07-01')
  })

  it('/openapi.json has the other version', async () => {
    const document = (await (await get('/openapi.json?version=2026-07-01')).json()) as Document
    expect(document.info.version).toBe('2026-07-01')
    expect(document.paths).toHaveProperty('/bill_payments/pay')
  })

  it.each(['2025-01-01', '', '2024-10-01&version=2026-07-01'])(
    '/openapi.json refuses version=%s in the envelope',
    async (version) => {
      const answer = await get(`/openapi.json?version=${version}`)
      expect(answer.status).toBe(400)
      const refused = { errorCode: 'VERSION_NOT_SUPPORTED', code: 400, field: 'version' }
      expect(await answer.json()).toMatchObject(refused)
    },
  )

  it('/openapi.json returns 304 to a client that has the current version', async () => {
    const etag = (await get('/openapi.json')).headers.get('etag') ?? ''
    const again = await get('/openapi.json', { 'if-none-match': etag })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it.each(['HEAD', 'POST', 'DELETE'])('/openapi.json does not take %s', async (method) => {
    const answer = await fetch(`${edge.url}/openapi.json`, { method })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('/asyncapi.json', () => {
  it('/asyncapi.json describes the pushes in AsyncAPI 3, without a key', async () => {
    const answer = await get('/asyncapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const { asyncapi, channels } = (await answer.json()) as { asyncapi: string; channels: object }
    expect(asyncapi).toMatch(/^3\./)
    expect(Object.keys(channels)).toEqual(['notify', 'callback', 'onboarding'])
  })

  it('/asyncapi.json takes GET alone', async () => {
    const answer = await fetch(`${edge.url}/asyncapi.json`, { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('/docs', () => {
  it.each(pages)('/%s is a page that loads its own files alone', async (name) => {
    const answer = await get(`/${name}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|http/)
    const page = await answer.text()
    const asked = [...page.matchAll(/<(?:script|link|img)\b[^>]* (?:src|href)="([^"]+)"/g)]
    expect(asked.length).toBeGreaterThan(2)
    const known = new Set<string>(pageFiles.map(([file]) => file))
    const files = asked.map(([, address = '']) => new URL(address, answer.url).pathname.slice(1))
    expect(files.filter((file) => !known.has(file))).toEqual([])
    // What stands inline would not run under that policy.
    expect(page).not.toMatch(/<style|<script>|style=|<[^>]*\son\w+=/)
  })

  it('/docs and its pages lead to nothing that is not there', async () => {
    const dead: string[] = []
    const texts = new Map<string, Promise<string>>()
    const read = async (address: URL) => {
      const answer = await fetch(address)
      return answer.ok ? answer.text() : ''
    }
    const textAt = (address: URL) => {
      const found = texts.get(address.href) ?? read(address)
      texts.set(address.href, found)
      return found
    }
    for (const name of pages) {
      const own = new URL(name, `${edge.url}/`)
      const links = [...(await textAt(own)).matchAll(/<a\b[^>]* href="([^"]+)"/g)]
      for (const [, link = ''] of links) {
        const address = new URL(link.replaceAll('&amp;', '&'), own)
        const { origin, hash } = address
        if (origin !== own.origin) continue
        address.hash = ''
        const text = await textAt(address)
        // The viewer makes its anchors itself.
        const isThere =
          hash === '' || hash.startsWith('#/') || text.includes(`id="${decodeURI(hash.slice(1))}"`)
        if (text === '' || !isThere) dead.push(`${name}: ${link}`)
      }
    }
    expect(dead).toEqual([])
  })

  it('/docs/errors has the section that doc_url of each error leads to', async () => {
    const text = await (await get('/docs/errors')).text()
    const codes = Object.keys(publicReasons)
    expect(codes.filter((code) => !text.includes(`<h2 id="${code}">`))).toEqual([])
  })

  it.each(pageFiles)('/docs has %s', async (name, type) => {
    const answer = await get(`/${name}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain(type)
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(100)
  })

  it('/docs/try-it offers both versions', async () => {
    const script = await (await get('/docs/try-it.js')).text()
    expect(script).toContain('openapi.json?version=2024-10-01')
    expect(script).toContain('openapi.json?version=2026-07-01')
  })

  it('/docs/try-it-keys.json has the keys of a sandbox for browsers on its own machine alone', async () => {
    const { port } = new URL(edge.url)
    const asked = async (host: string, more: Record<string, string> = {}) => {
      const headers = { host, ...more }
      const answer = await request(`${edge.url}/docs/try-it-keys.json`, { headers })
      expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
      return await answer.body.json()
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'localhost', '[::1]:8080']) {
      expect(await asked(host)).toEqual(viewerKeys)
    }
    for (const host of ['pay.example', 'localhost.pay.example', '127.0.0.1.pay.example:80']) {
      expect(await asked(host)).toEqual({})
    }
    for (const proxied of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
      expect(await asked('localhost', { [proxied]: '127.0.0.1' })).toEqual({})
    }
    const headers = { host: 'localhost:8080' }
    expect(isFromThisMachine('127.0.0.1', headers)).toBe(true)
    expect(isFromThisMachine('192.0.2.7', headers)).toBe(false)
    expect(isFromThisMachine(undefined, headers)).toBe(false)
  })

  it('/docs/try-it-keys.json has no keys of production, and none that are no test keys', () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'viewer-keys-')), 'sandbox.json')
    const write = (subscription_key: string) =>
      fs.writeFileSync(
        file,
        JSON.stringify({ projects: { demo: { subscription_key, api_key: apiKey } } }),
      )
    expect(readViewerKeys(undefined, 'production')).toBeUndefined()
    expect(() => readViewerKeys(file, 'local')).toThrow('no test keys of a project demo')
    write(keys.demo)
    expect(readViewerKeys(file, 'local')).toEqual(viewerKeys)
    expect(() => readViewerKeys(file, 'production')).toThrow('must not be set in production')
    write(keys.demo.replace('test', 'live'))
    expect(() => readViewerKeys(file, 'local')).toThrow('no test keys of a project demo')
    fs.rmSync(path.dirname(file), { recursive: true })
  })

  it('/docs is compressed for clients that accept it', async () => {
    const small = await get('/docs/swagger-ui-bundle.js', { 'accept-encoding': 'gzip' })
    expect(small.headers.get('content-encoding')).toBe('gzip')
    const plain = await get('/docs/swagger-ui-bundle.js', { 'accept-encoding': 'identity' })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.text()).toBe(await small.text())
  })

  it('/docs/ leads to /docs', async () => {
    const answer = await get('/docs/')
    expect([answer.status, answer.url]).toEqual([200, `${edge.url}/docs`])
  })

  it.each(['/docs/index', '/docs/quick-start.html', '/docs/other.js', '/docs/..%2fpackage.json'])(
    '/docs has nothing at %s',
    async (path) => {
      const answer = await get(path)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ errorCode: 'ENDPOINT_NOT_FOUND' })
    },
  )

  it.each(['/docs', '/docs/quick-start', '/docs/try-it.js'])(
    '/docs takes GET alone at %s',
    async (path) => {
      const answer = await fetch(`${edge.url}${path}`, { method: 'HEAD' })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
    },
  )
})

it('all documents can be made in advance', async () => {
  const early = await startEdge()
  const given = await fetch(`${early.url}/docs/try-it-keys.json`)
  expect(await given.json()).toEqual({})
  await early.makeDocuments()
  for (const path of [
    'openapi.json',
    'asyncapi.json',
    ...pages,
    ...pageFiles.map(([name]) => name),
  ]) {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => fetch(`${early.url}/${path}`)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200))
    const tags = new Set(answers.map(({ headers }) => headers.get('etag')))
    expect(tags.size).toBe(1)
    for (const answer of answers) await answer.arrayBuffer()
  }
  await early.close()
})
