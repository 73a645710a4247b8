// Protects hosted pages: security headers, cross-site request forgery, shape of link tokens.
import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestsEqual } from '#core/identity/digest.ts'

/** How long a page that was opened can still be submitted. */
const formLifetimeS = 2 * 60 * 60

/** Whether a text can be a link token: base64url of 32 bytes. */
export function isLinkToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** Whether a text can be the token of a receipt's link: base64url of an id and of a MAC. */
export function isReceiptToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{49}$/.test(text)
}

/** A value for the form of one page, `<expiry>.<mac>`: it proves that we made the form, lately. */
export function formToken(pageKey: Buffer, linkToken: string, nowMs: number): string {
  const expiresS = Math.floor(nowMs / 1000) + formLifetimeS
  return `${expiresS}.${formMac(pageKey, linkToken, expiresS).toString('base64url')}`
}

/** Whether a form token was made for this page, under one of the keys, and is still good. */
export function isFormToken(
  keys: readonly { key: Buffer }[],
  linkToken: string,
  token: string,
  nowMs: number,
): boolean {
  const match = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/.exec(token)
  if (match === null || Number(match[1]) * 1000 < nowMs) return false
  const offered = Buffer.from(match[2] ?? '', 'base64url')
  const expiresS = Number(match[1])
  return keys.some(({ key }) => digestsEqual(offered, formMac(key, linkToken, expiresS)))
}

function formMac(pageKey: Buffer, linkToken: string, expiresS: number): Buffer {
  return createHmac('sha256', pageKey).update(`form ${linkToken} ${expiresS}`).digest()
}

/** Whether a form was sent from another site, as far as the browser's headers show. */
export function isCrossSite({ headers }: FastifyRequest, publicOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  const { origin, host } = headers
  if (origin === undefined) return false
  return origin !== publicOrigin && URL.parse(origin)?.host !== host
}

/** What one page may load beside its style: a card frame, and our script with what that asks. */
export type Loads = {
  /** An absolute URL, or a path of our own. */
  frameUrl?: string | undefined
  runsScript?: boolean
  /** A page of ours may show this one in a frame. */
  isFramed?: boolean
}

/** Protects an answer: its page loads nothing but what is named here. Returns the nonce of its style. */
export function protectPage(
  reply: FastifyReply,
  { frameUrl, runsScript = false, isFramed = false }: Loads,
): string {
  const nonce = randomBytes(16).toString('base64')
  void reply.headers({
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      "img-src 'self'",
      ...(runsScript ? ["script-src 'self'", "connect-src 'self'"] : []),
      `frame-src ${frameSource(frameUrl)}`,
      "form-action 'self'",
      "base-uri 'none'",
      `frame-ancestors ${isFramed ? "'self'" : "'none'"}`,
    ].join('; '),
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    // Not "no-referrer": with it a browser sends "Origin: null" from our own forms.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': isFramed ? 'SAMEORIGIN' : 'DENY',
    'x-robots-tag': 'noindex, nofollow',
  })
  return nonce
}

function frameSource(frameUrl: string | undefined): string {
  if (frameUrl === undefined) return "'none'"
  return frameUrl.startsWith('/') ? "'self'" : new URL(frameUrl).origin
}
