// The console's cookies: their names and attributes, by whether it is served over https.
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Reads, sets and removes one cookie. */
export type OwnCookie = {
  read(request: FastifyRequest): string | undefined
  set(reply: FastifyReply, value: string, maxAgeS?: number): void
  remove(reply: FastifyReply): void
}

/**
 * A cookie of this origin. Over https its name has the prefix `__Host-`, so that no other host, port or path can set
 * it; on loopback over http, where browsers refuse the prefix, it has the plain name.
 */
export function ownCookie(name: string, consoleUrl: string): OwnCookie {
  const secure = consoleUrl.startsWith('https:')
  const full = `${secure ? '__Host-' : ''}payweave-${name}`
  // Lax: a link in a mail leads to the page. Changes need the form's token too.
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  return {
    read: (request) => request.cookies[full],
    set: (reply, value, maxAge) =>
      void reply.setCookie(full, value, { ...attributes, ...(maxAge !== undefined && { maxAge }) }),
    remove: (reply) => void reply.clearCookie(full, attributes),
  }
}
