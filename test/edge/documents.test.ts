// The documents and their page as anybody gets them, without a key.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EdgeFixture, startEdge } from './harness.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())

type Document = { info: { version: string }; paths: object; externalDocs: { url: string } }

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${edge.url}${path}`, { headers })

const pageFiles = [
  ['docs/swagger-ui.css', 'text/css'],
  ['docs/page.css', 'text/css'],
  ['docs/errors.css', 'text/css'],
  ['docs/swagger-ui-bundle.js', 'text/javascript'],
  ['docs/swagger-ui-standalone-preset.js', 'text/javascript'],
  ['docs/start.js', 'text/javascript'],
  ['docs/favicon-32x32.png', 'image/png'],
] as const

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
      expect(await answer.json()).toMatchObject({ errorCode: 'VERSION_NOT_SUPPORTED', code: 400 })
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
  it('/docs is a page that loads its own files alone', async () => {
    const answer = await get('/docs')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|http/)
    const page = await answer.text()
    const asked = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address)
    const known = [...pageFiles.map(([name]) => name), 'openapi.json?version=']
    for (const address of asked) {
      expect(known.some((name) => address?.startsWith(name) === true)).toBe(true)
    }
    // What stands inline would not run under that policy.
    expect(page).not.toMatch(/<style|<script>|style=|\son\w+=/)
  })

  it.each(pageFiles)('/docs has %s', async (name, type) => {
    const answer = await get(`/${name}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain(type)
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(100)
  })

  it('/docs offers both versions', async () => {
    const script = await (await get('/docs/start.js')).text()
    expect(script).toContain('openapi.json?version=2024-10-01')
    expect(script).toContain('openapi.json?version=2026-07-01')
  })

  it('/docs is compressed for clients that accept it', async () => {
    const small = await get('/docs/swagger-ui-bundle.js', { 'accept-encoding': 'gzip' })
    expect(small.headers.get('content-encoding')).toBe('gzip')
    const plain = await get('/docs/swagger-ui-bundle.js', { 'accept-encoding': 'identity' })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.text()).toBe(await small.text())
  })

  it.each(['/docs/', '/docs/other.js', '/docs/..%2fpackage.json'])(
    '/docs has nothing at %s',
    async (path) => {
      const answer = await get(path)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ errorCode: 'ENDPOINT_NOT_FOUND' })
    },
  )

  it.each(['/docs', '/docs/start.js'])('/docs takes GET alone at %s', async (path) => {
    const answer = await fetch(`${edge.url}${path}`, { method: 'HEAD' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

it('all documents can be made in advance', async () => {
  const early = await startEdge()
  await early.makeDocuments()
  for (const path of [
    'openapi.json',
    'asyncapi.json',
    'docs',
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
