// The identity provider of a start on one machine: OpenID Connect with the sandbox's people, behind the key of the banner.
import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { digestsEqual, hashToken } from '#core/identity/digest.ts'
import { keyIdOf, signJwt } from '#platform/rpc/auth/jwt.ts'
import { localLinkPath } from '../../deploy/local/sign-in-key.ts'
import { sendPage } from '../pages/render.ts'
import { ownCookie } from './cookies.ts'

/** Someone who can be chosen. Projects are those of the sandbox, by name. */
type LocalPerson = { id: string; name: string; role: string; project?: string }

/** The people of the sandbox, with one role each. */
export const localPeople: readonly LocalPerson[] = [
  { id: 'ama', name: 'Ama Mensah', role: 'administrator' },
  { id: 'kofi', name: 'Kofi Boateng', role: 'operator' },
  { id: 'esi', name: 'Esi Owusu', role: 'finance' },
  { id: 'yaw', name: 'Yaw Darko', role: 'support' },
  { id: 'abena', name: 'Abena Sarpong', role: 'merchant_developer', project: 'demo' },
  { id: 'kwame', name: 'Kwame Asante', role: 'merchant_viewer', project: 'demo' },
  { id: 'nana', name: 'Nana Quaye', role: 'merchant_developer', project: 'other' },
]

/** Options of the provider. */
export type LocalProviderOptions = {
  consoleUrl: string
  clientId: string
  redirectUrl: string
  rolesClaim: string
  /** The key in the link that the start prints. */
  key: string
  /** The id of a project of the sandbox. */
  projectIdOf: (name: string) => Promise<string>
}

/** Path of the provider; its issuer is the console's address and this. */
export const localIssuerPath = '/local'

const codeLifetimeMs = 60_000
const tokenLifetimeS = 300

/** A code that was given out, until it is used or too old. */
type Grant = { personId: string; nonce: string; challenge: string; untilMs: number }

/** Registers the provider's endpoints and the link that opens it. */
export function registerLocalProvider(app: FastifyInstance, options: LocalProviderOptions): void {
  const issuer = `${options.consoleUrl}${localIssuerPath}`
  const grants = new Map<string, Grant>()
  registerAuthorize(app, options, issuer, grants)
  registerToken(app, options, issuer, grants)
  app.get(`${localIssuerPath}/.well-known/openid-configuration`, () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code'],
    subject_types_supported: ['public'],
    scopes_supported: ['openid', 'profile', 'email'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    id_token_signing_alg_values_supported: ['EdDSA'],
    authorization_response_iss_parameter_supported: true,
  }))
}

function opens(offered: string | undefined, secret: string): boolean {
  return offered !== undefined && digestsEqual(hashToken(offered), hashToken(secret))
}

/** The link of the banner, and the page on which a person is chosen. */
function registerAuthorize(
  app: FastifyInstance,
  { consoleUrl, clientId, redirectUrl, key }: LocalProviderOptions,
  issuer: string,
  grants: Map<string, Grant>,
): void {
  const cookie = ownCookie('local', consoleUrl)
  // A stolen cookie must not yield a sign-in link.
  const pass = createHmac('sha256', key).update('local-cookie').digest('base64url')
  const back = (reply: FastifyReply, result: Record<string, string>) => {
    const query = new URLSearchParams({ ...result, iss: issuer })
    return reply.redirect(`${redirectUrl}?${query.toString()}`, 303)
  }

  app.get<{ Params: { key: string } }>(`${localLinkPath}/:key`, (request, reply) => {
    if (!opens(request.params.key, key)) return refuse(reply)
    cookie.set(reply, pass)
    return reply.redirect('/sign-in', 303)
  })

  app.get(`${localIssuerPath}/authorize`, (request, reply) => {
    if (!opens(cookie.read(request), pass)) return refuse(reply)
    const asked = request.query as Record<string, string | undefined>
    if (asked['client_id'] !== clientId || asked['redirect_uri'] !== redirectUrl) {
      return refuse(reply)
    }
    const { state = '', nonce = '', code_challenge: challenge = '' } = asked
    if (asked['response_type'] !== 'code' || asked['code_challenge_method'] !== 'S256') {
      return back(reply, { error: 'invalid_request', state })
    }
    const chosen = localPeople.find(({ id }) => id === asked['login_hint'])
    if (chosen === undefined) return sendChoice(reply, request)
    const code = randomBytes(32).toString('base64url')
    const untilMs = Date.now() + codeLifetimeMs
    grants.set(code, { personId: chosen.id, nonce, challenge, untilMs })
    return back(reply, { code, state })
  })
}

/** Codes become ID tokens, each once, for who has the verifier. */
function registerToken(
  app: FastifyInstance,
  options: LocalProviderOptions,
  issuer: string,
  grants: Map<string, Grant>,
): void {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const signing = { key: privateKey, keyId: keyIdOf(privateKey) }

  app.get(`${localIssuerPath}/jwks`, () => ({
    keys: [
      { ...publicKey.export({ format: 'jwk' }), kid: signing.keyId, alg: 'EdDSA', use: 'sig' },
    ],
  }))

  app.post(`${localIssuerPath}/token`, async (request, reply) => {
    const body = (request.body ?? {}) as Record<string, string | undefined>
    const grant = grants.get(body['code'] ?? '')
    grants.delete(body['code'] ?? '')
    for (const [code, { untilMs }] of grants) if (untilMs < Date.now()) grants.delete(code)
    const isGood =
      grant !== undefined &&
      grant.untilMs >= Date.now() &&
      body['grant_type'] === 'authorization_code' &&
      body['client_id'] === options.clientId &&
      body['redirect_uri'] === options.redirectUrl &&
      challengeOf(body['code_verifier'] ?? '') === grant.challenge
    void reply.header('cache-control', 'no-store')
    if (!isGood) return reply.code(400).send({ error: 'invalid_grant' })
    return {
      access_token: randomBytes(32).toString('base64url'),
      token_type: 'Bearer',
      expires_in: tokenLifetimeS,
      id_token: signJwt(signing, await claimsOf(options, issuer, grant)),
    }
  })
}

async function claimsOf(options: LocalProviderOptions, issuer: string, grant: Grant) {
  const person = localPeople.find(({ id }) => id === grant.personId)
  if (person === undefined) throw new Error('a code is of somebody who can be chosen')
  const { id, name, role, project } = person
  const held = project === undefined ? role : `${role}:${await options.projectIdOf(project)}`
  const nowS = Math.floor(Date.now() / 1_000)
  return {
    iss: issuer,
    aud: options.clientId,
    sub: id,
    iat: nowS,
    exp: nowS + tokenLifetimeS,
    nonce: grant.nonce,
    name,
    email: `${id}@example.com`,
    email_verified: true,
    [options.rolesClaim]: [held],
  }
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

function sendChoice(reply: FastifyReply, request: FastifyRequest): FastifyReply {
  const url = new URL(request.url, 'http://localhost')
  const people = localPeople.map(({ id, name, role, project }) => {
    url.searchParams.set('login_hint', id)
    return { name, role: role.replace('_', ' '), project, href: `${url.pathname}${url.search}` }
  })
  return sendPage(reply, 'choose-person', { title: 'Who are you?', people })
}

function refuse(reply: FastifyReply): FastifyReply {
  return sendPage(
    reply,
    'message',
    {
      title: 'Open the link that npm start printed',
      text: 'The people of this sandbox are behind its key. The start prints the link with it, as "console".',
    },
    403,
  )
}
