// Signing in and out: to the identity provider, back from it, and the end of a session.
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Logger } from '#platform/telemetry/log.ts'
import { ownPath } from '../http/guard.ts'
import type { Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { ownCookie } from './cookies.ts'
import { type Oidc, type PendingSignIn, SignInRefused } from './oidc.ts'
import type { Sessions } from './sessions.ts'

/** Where the provider leads back to. */
export const callbackPath = '/sign-in/callback'

/** Dependencies of the sign-in. */
export type SignInOptions = {
  oidc: Oidc
  sessions: Sessions
  worker: Worker
  consoleUrl: string
  log: Logger
}

const pendingMaxAgeS = 600

/** Registers `/sign-in`, where the provider leads back to, and `/sign-out`. */
export function registerSignIn(app: FastifyInstance, options: SignInOptions): void {
  const { oidc, sessions, worker, consoleUrl, log } = options
  const cookie = ownCookie('sign-in', consoleUrl)

  app.get('/sign-in', async (request, reply) => {
    const { return: returnPath } = request.query as Record<string, unknown>
    try {
      const { url, pending } = await oidc.begin(ownPath(returnPath))
      cookie.set(reply, Buffer.from(JSON.stringify(pending)).toString('base64url'), pendingMaxAgeS)
      return await reply.redirect(url.href, 303)
    } catch (error) {
      log.warn({ err: error }, 'identity provider not usable')
      return unavailable(reply)
    }
  })

  app.get(callbackPath, async (request, reply) => {
    const pending = readPending(cookie.read(request))
    cookie.remove(reply)
    if (pending === undefined) return sendRefusal(reply, 'The sign-in took too long. Begin again.')
    const query = new URL(request.url, consoleUrl).search
    try {
      const who = await oidc.finish(query, pending)
      await sessions.begin(request, reply, who)
      return await reply.redirect(ownPath(pending.returnPath), 303)
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error
      log.warn({ reason: error.reason, err: error }, 'sign-in refused')
      return sendRefusal(
        reply,
        error.reason === 'no_roles'
          ? 'You have no role in this console. Ask an administrator of your identity provider.'
          : 'The identity provider did not confirm who you are. Begin again.',
      )
    }
  })

  app.get('/signed-out', (_, reply) =>
    sendPage(reply, 'message', { title: 'You are signed out', text: '', signIn: true }),
  )

  app.post(
    '/sign-out',
    worker.page(async ({ request, reply }) => {
      await sessions.end(request, reply)
      return reply.redirect('/signed-out', 303)
    }),
  )
}

function sendRefusal(reply: FastifyReply, text: string): FastifyReply {
  return sendPage(reply, 'message', { title: 'You are not signed in', text, signIn: true }, 403)
}

function unavailable(reply: FastifyReply): FastifyReply {
  const text = 'The identity provider cannot be reached. Try again in a moment.'
  return sendPage(
    reply,
    'message',
    { title: 'Sign-in is not possible now', text, signIn: true },
    503,
  )
}

function readPending(text: string | undefined): PendingSignIn | undefined {
  try {
    const read = JSON.parse(
      Buffer.from(text ?? '', 'base64url').toString(),
    ) as Partial<PendingSignIn>
    const { state, nonce, verifier, returnPath } = read
    if (!state || !nonce || !verifier || !returnPath) return undefined
    return { state, nonce, verifier, returnPath }
  } catch {
    return undefined
  }
}
