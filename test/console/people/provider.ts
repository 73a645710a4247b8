// An OpenID Connect provider of a test: gives one token for each code, with the claims that the test sets.
import { createHash, generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { keyIdOf, signJwt } from '#platform/rpc/auth/jwt.ts'

/** Serves a provider on loopback, for a client with this secret. */
export async function serveProvider(clientId: string, secret: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const signing = { key: privateKey, keyId: keyIdOf(privateKey) }
  const provider = {
    issuer: '',
    /** What the next token says beside what every token does. */
    claims: {} as Record<string, unknown>,
    /** Of the sign-in that is under way: what its redirect carried. */
    nonce: '',
    challenge: '',
    close: () => server.close(),
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request))
    const verifier = form.get('code_verifier') ?? ''
    const isGood =
      form.get('client_secret') === secret &&
      form.get('client_id') === clientId &&
      createHash('sha256').update(verifier).digest('base64url') === provider.challenge
    response.statusCode = isGood ? 200 : 400
    const nowS = Math.floor(Date.now() / 1_000)
    const times = { iat: nowS, exp: nowS + 300 }
    const standard = { iss: provider.issuer, aud: clientId, nonce: provider.nonce, ...times }
    const tokens = {
      access_token: 'of-no-use',
      token_type: 'Bearer',
      id_token: signJwt(signing, { ...standard, ...provider.claims }),
    }
    response.end(JSON.stringify(isGood ? tokens : { error: 'invalid_client' }))
  }

  const server = createServer((request, response) => {
    const { issuer } = provider
    response.setHeader('content-type', 'application/json')
    if (request.url === '/token') {
      void token(request, response)
      return
    }
    const key = { kid: signing.keyId, alg: 'EdDSA', use: 'sig' }
    const answers: Record<string, object> = {
      '/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['EdDSA'],
      },
      '/jwks': { keys: [{ ...publicKey.export({ format: 'jwk' }), ...key }] },
    }
    response.end(JSON.stringify(answers[request.url ?? ''] ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return provider
}
