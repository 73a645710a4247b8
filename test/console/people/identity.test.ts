// Tests who a person is for a console behind https with a provider of its own, with any address there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openOidc } from '../../../console/sign-in/oidc.ts'
import { callbackPath } from '../../../console/sign-in/routes.ts'
import { type Harness, startHarness } from '../harness.ts'
import { usualTexts } from '../rows.ts'
import { serveProvider } from './provider.ts'

const host = 'desk.example.org'
const consoleUrl = `https://${host}`
const clientId = 'console'
const sessionCookie = '__Host-payweave-console'
const dir = mkdtempSync(join(tmpdir(), 'payweave-oidc-'))
let harness: Harness
let provider: Awaited<ReturnType<typeof serveProvider>>
let app: FastifyInstance
let other: FastifyInstance

beforeAll(async () => {
  harness = await startHarness(usualTexts)
  provider = await serveProvider(clientId, 'the secret')
  const open = async (secret: string) => {
    const clientSecretFile = join(dir, `${secret}.txt`)
    writeFileSync(clientSecretFile, `${secret}\n`)
    const rest = { scope: 'openid email', rolesClaim: 'roles' }
    const { issuer } = provider
    const redirectUrl = `${consoleUrl}${callbackPath}`
    const oidc = openOidc({ issuer, clientId, clientSecretFile, redirectUrl, ...rest })
    return await harness.another({ consoleUrl, oidc, local: undefined })
  }
  app = await open('the secret')
  other = await open('another secret')
})
afterAll(async () => {
  await app?.close()
  await other?.close()
  provider?.close()
  await harness?.close()
  rmSync(dir, { recursive: true })
})

type Claims = { sub: string; email?: string; email_verified?: boolean; name?: string }

/** Signs a person in; the answer of the callback. */
async function signIn(claims: Claims, roles: unknown = ['finance'], at = app) {
  const begun = await at.inject({ url: '/sign-in', headers: { host } })
  const asked = new URL(String(begun.headers.location)).searchParams
  provider.nonce = asked.get('nonce') ?? ''
  provider.challenge = asked.get('code_challenge') ?? ''
  provider.claims = { ...claims, roles }
  const back = new URLSearchParams({ code: 'any', state: asked.get('state') ?? '' })
  const url = `${callbackPath}?${back.toString()}`
  const [pending] = begun.cookies
  const answer = await at.inject({
    url,
    headers: { host },
    cookies: { [pending?.name ?? '']: pending?.value ?? '' },
  })
  const session = answer.cookies.find(({ name }) => name === sessionCookie)
  return { begun, answer, session: session?.value ?? '' }
}

const get = (session: string, url: string) =>
  app.inject({ url, headers: { host }, cookies: { [sessionCookie]: session } })

/** How services know who holds this session. */
async function personOf(session: string): Promise<string | undefined> {
  harness.peers.calls.length = 0
  expect((await get(session, '/approvals')).statusCode).toBe(200)
  return harness.peers.calls.find(({ rpc }) => rpc === 'ListApprovals')?.person
}

it('behind https the cookies of a sign-in and of its session belong to this host alone and travel over https alone', async () => {
  const { begun, answer, session } = await signIn({ sub: 'u1' })
  expect([begun.statusCode, answer.statusCode, answer.headers.location]).toEqual([303, 303, '/'])
  for (const [{ headers }, name] of [
    [begun, '__Host-payweave-sign-in='],
    [answer, `${sessionCookie}=`],
  ] as const) {
    const sets = [headers['set-cookie']].flat().map(String)
    const set = sets.find((one) => one.startsWith(name) && !one.startsWith(`${name};`)) ?? ''
    for (const attribute of ['Path=/', 'Secure', 'HttpOnly', 'SameSite=Lax']) {
      expect(set).toMatch(new RegExp(`; ${attribute}(;|$)`))
    }
    expect(set).not.toMatch(/domain/i)
    expect(headers['strict-transport-security']).toContain('max-age=31536000')
  }
  expect((await get(session, '/')).statusCode).toBe(200)
  const plain = { 'payweave-console': session }
  expect((await app.inject({ url: '/', headers: { host }, cookies: plain })).statusCode).toBe(303)
})

it('a console with a client secret signs people in by it, and nobody by another one', async () => {
  expect((await signIn({ sub: 'u1' })).session).not.toBe('')
  const { answer, session } = await signIn({ sub: 'u1' }, ['finance'], other)
  expect([answer.statusCode, session]).toEqual([403, ''])
})

it.each([[null], [[]], ['finance'], [['owner', 7, 'merchant_viewer']]])(
  'a person whose roles are %j is signed in nowhere, and reads whom to ask',
  async (roles) => {
    const { answer, session } = await signIn({ sub: 'u2' }, roles)
    expect([answer.statusCode, session]).toEqual([403, ''])
    expect(answer.body).toContain('You have no role in this console.')
  },
)

it('a person stays the same under another address, and another one with their address does not become them', async () => {
  const ama = { email: 'ama@example.com', email_verified: true }
  const first = await signIn({ sub: 'u1', ...ama })
  const renamed = await signIn({ sub: 'u1', ...ama, email: 'kofi@example.com' })
  const taker = await signIn({ sub: 'u9', ...ama })
  const id = `${provider.issuer}#u1`
  expect(await personOf(first.session)).toBe(id)
  expect(await personOf(renamed.session)).toBe(id)
  expect(await personOf(taker.session)).toBe(`${provider.issuer}#u9`)
})

it('an address that nobody verified names no person: neither the id nor what pages show', async () => {
  const ama = { email: 'ama@example.com', email_verified: true }
  await signIn({ sub: 'u1', ...ama })
  for (const claims of [
    { sub: 'u3', email: 'ama@example.com', name: 'Mallory' },
    { sub: 'ama@example.com', name: 'Mallory' },
  ]) {
    const { session } = await signIn(claims)
    expect(await personOf(session)).toBe(`${provider.issuer}#${claims.sub}`)
    const { body } = await get(session, '/approvals')
    expect(body).toContain(`<p>Mallory (${claims.sub})<br>finance</p>`)
  }
})

it('pages show people by their address, records of before as they are, and filters take both', async () => {
  const kofi = { sub: 'u5', email: 'Kofi.B@example.com', email_verified: true }
  const { session } = await signIn(kofi, ['administrator'])
  const id = `${provider.issuer}#u5`
  await get(session, '/stuck')
  const old = {
    name: 'old',
    text: `insert into activity values (gen_random_uuid(), clock_now(), gen_random_uuid(),
    'kofi.b@example.com', 'rpc/OfBefore', null, '', gen_random_uuid())`,
  }
  await harness.db.run(old, [])
  const filter = async (person: string) =>
    (await get(session, `/audit/calls?${new URLSearchParams({ person }).toString()}`)).body
  const byAddress = await filter('kofi.b@example.com')
  expect(byAddress).toContain('>Kofi.B@example.com</a>')
  expect(byAddress).toContain('PaymentOperationsService/ListFailingCalls')
  expect(byAddress).not.toContain('rpc/OfBefore')
  expect(await filter('console:kofi.b@example.com')).toContain('rpc/OfBefore')
  const byId = await filter(id)
  expect(byId).toContain('PaymentOperationsService/ListFailingCalls')
  expect(byId).not.toContain('rpc/OfBefore')
  harness.peers.events.decidedBy = `console:${id}`
  const decisions = (await get(session, '/dead-letters/events/decisions')).body
  expect(decisions).toMatch(/>\s*Kofi\.B@example\.com\s*</)
  const { held } = harness.peers.approvals.refunds
  held.requester = `console:${id}`
  expect((await get(session, '/approvals')).body).toContain('>you, <')
  const esi = await signIn({ sub: 'u6', email: 'esi@example.com', email_verified: true })
  expect((await get(esi.session, '/approvals')).body).toContain('>Kofi.B@example.com, <')
  held.requester = 'console:old@example.com'
  expect((await get(esi.session, '/approvals')).body).toContain('>old@example.com, <')
})

it('a project of the sandbox has its band on an installation of production, where other pages have none', async () => {
  const production = await harness.another({ consoleUrl, environment: 'production' })
  const { session } = await signIn({ sub: 'u8' }, ['administrator'])
  const read = async (url: string) => {
    const cookies = { [sessionCookie]: session }
    return (await production.inject({ url, headers: { host }, cookies })).body
  }
  const band = '<p class="band band-sandbox" role="note">sandbox: no real money</p>'
  expect(await read(`/projects/${harness.peers.projects.demo.projectId}/payments`)).toContain(band)
  expect(await read('/stuck')).not.toContain('class="band')
  await production.close()
})

it('a session of the previous release, whose person is an address, is not read any more', async () => {
  const { session } = await signIn({ sub: 'u7' })
  const before = { name: 'before', text: 'update session set email = null where person = $1' }
  await harness.db.run(before, [`${provider.issuer}#u7`])
  expect((await get(session, '/')).statusCode).toBe(303)
})
