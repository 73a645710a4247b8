// Signs people in by OpenID Connect: authorization code with PKCE, and roles from a claim of the ID token.
import { readFileSync } from 'node:fs'
import * as client from 'openid-client'
import { type Membership, parseMembership } from '#platform/rpc/auth/roles.ts'
import type { SignedIn } from './sessions.ts'

/** The provider, and how the console is known to it. */
export type OidcSettings = {
  issuer: string
  clientId: string
  /** Undefined: a public client. */
  clientSecretFile: string | undefined
  scope: string
  rolesClaim: string
  /** Where the provider leads back to. */
  redirectUrl: string
}

/** What a sign-in that is under way must find again. Kept in a cookie of the browser that began it. */
export type PendingSignIn = { state: string; nonce: string; verifier: string; returnPath: string }

/** A sign-in that the provider, or the lack of roles, refused. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused'
  readonly reason: 'provider' | 'no_roles'

  constructor(reason: SignInRefused['reason'], options?: ErrorOptions) {
    super(`sign-in refused: ${reason}`, options)
    this.reason = reason
  }
}

/** Leads to a provider and reads what it says. */
export type Oidc = ReturnType<typeof openOidc>

/** A client of a provider, which is discovered at the first sign-in: the console starts without it. */
export function openOidc(settings: OidcSettings) {
  let found: Promise<client.Configuration> | undefined
  function provider(): Promise<client.Configuration> {
    found ??= discover(settings).catch((error: unknown) => {
      found = undefined
      throw error
    })
    return found
  }

  return {
    /** Where to send the browser, and what to keep until it is back. Rejects when the provider cannot be reached. */
    async begin(returnPath: string): Promise<{ url: URL; pending: PendingSignIn }> {
      const pending = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        returnPath,
      }
      const url = client.buildAuthorizationUrl(await provider(), {
        redirect_uri: settings.redirectUrl,
        scope: settings.scope,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
      })
      return { url, pending }
    },
    /** Who came back. Rejects with SignInRefused, and when the provider cannot be reached. */
    async finish(query: string, pending: PendingSignIn): Promise<SignedIn> {
      const { state, nonce, verifier } = pending
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      }
      const url = new URL(`${settings.redirectUrl}${query}`)
      const tokens = await client
        .authorizationCodeGrant(await provider(), url, checks)
        .catch((cause: unknown) => {
          throw new SignInRefused('provider', { cause })
        })
      const claims = tokens.claims()
      if (claims === undefined) throw new SignInRefused('provider')
      return personOf(claims, settings.rolesClaim)
    },
  }
}

async function discover(settings: OidcSettings): Promise<client.Configuration> {
  const { issuer, clientId, clientSecretFile } = settings
  const secret =
    clientSecretFile === undefined ? undefined : readFileSync(clientSecretFile, 'utf8').trim()
  const isPlain = issuer.startsWith('http:')
  const proof = secret === undefined ? client.None() : client.ClientSecretPost(secret)
  const found = await client.discovery(new URL(issuer), clientId, undefined, proof, {
    // Settings allow http outside production only.
    execute: isPlain ? [client.allowInsecureRequests] : [],
  })
  // The ID token is verified by the provider's keys too, not by the connection alone.
  client.enableNonRepudiationChecks(found)
  return found
}

/**
 * The person of an ID token: its issuer and subject, which never change, and which no other person has. Throws SignInRefused
 * for one without a role.
 */
function personOf(claims: client.IDToken, rolesClaim: string): SignedIn {
  const { iss, sub, email: address, email_verified: isVerified, name } = claims
  const memberships = membershipsOf(claims[rolesClaim])
  if (memberships.length === 0) throw new SignInRefused('no_roles')
  // An address that nobody verified could be that of another person.
  const email = typeof address === 'string' && isVerified === true ? address : ''
  const displayName = typeof name === 'string' && name !== '' ? name : email || sub
  return { person: `${iss}#${sub}`, email, displayName, memberships }
}

function membershipsOf(claim: unknown): Membership[] {
  if (!Array.isArray(claim)) return []
  const read = claim.map((text) => (typeof text === 'string' ? parseMembership(text) : undefined))
  return read.filter((one) => one !== undefined)
}
