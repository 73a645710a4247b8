// Protects the console's answers and forms: security headers, a nonce for each page, and the sender of a form.
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A value that allows a page its own scripts and styles. */
export function newNonce(): string {
  return randomBytes(16).toString('base64')
}

/**
 * Headers of every answer: a page loads what carries its nonce, talks to its own origin alone, and is shown in no frame.
 */
export function protect(reply: FastifyReply, nonce: string, isHttps: boolean): void {
  void reply.headers({
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      `script-src 'nonce-${nonce}'`,
      "connect-src 'self'",
      "img-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    // Not "no-referrer": with it a browser sends "Origin: null" from our own forms.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-robots-tag': 'noindex, nofollow',
    ...(isHttps && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  })
}

/** Lets a page show pages of ours in frames. */
export function allowFrames(reply: FastifyReply): void {
  const policy = String(reply.getHeader('content-security-policy'))
  void reply.header('content-security-policy', `${policy}; frame-src 'self'`)
}

/** Lets a page of ours show this answer in a frame, and lets it do nothing there: no script, no form, no way to leave. */
export function protectFramed(reply: FastifyReply, nonce: string): void {
  void reply.headers({
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'self'",
      // Its logo needs the session of the page around it.
      'sandbox allow-same-origin',
    ].join('; '),
    'x-frame-options': 'SAMEORIGIN',
  })
}

/** Whether a form was sent by a page of this origin, as far as the browser's headers show. */
export function isFromOwnPage({ headers }: FastifyRequest, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  return headers.origin === undefined || headers.origin === origin
}

/**
 * The path to return to after a sign-in: one of our own, else the first page. `//host` and `/\host` lead elsewhere in a
 * browser.
 */
export function ownPath(text: unknown): string {
  return typeof text === 'string' && /^\/(?![/\\])[\x21-\x7e]{0,2000}$/.test(text) ? text : '/'
}
