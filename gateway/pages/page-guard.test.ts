// Tests what protects a hosted page: form tokens, origins and link tokens.
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { formToken, isCrossSite, isFormToken, isLinkToken } from './page-guard.ts'

const key = Buffer.alloc(32, 7)
const other = Buffer.alloc(32, 8)
const link = 'a'.repeat(43)
const nowMs = 1_700_000_000_000

describe('form tokens', () => {
  it('a token is good for its page, for two hours', () => {
    const token = formToken(key, link, nowMs)
    expect(isFormToken([{ key }], link, token, nowMs)).toBe(true)
    expect(isFormToken([{ key }], link, token, nowMs + 2 * 3_600_000 - 1_000)).toBe(true)
    expect(isFormToken([{ key }], link, token, nowMs + 2 * 3_600_000 + 1_000)).toBe(false)
  })

  it('a page that was opened before a rotation can be submitted after it, and vice versa', () => {
    const live = [{ key }, { key: other }]
    for (const signing of [key, other]) {
      expect(isFormToken(live, link, formToken(signing, link, nowMs), nowMs)).toBe(true)
    }
  })

  it('a token of another page, key or life is refused', () => {
    const token = formToken(key, link, nowMs)
    expect(isFormToken([{ key }], 'b'.repeat(43), token, nowMs)).toBe(false)
    expect(isFormToken([{ key: other }], link, token, nowMs)).toBe(false)
    const prolonged = token.replace(/^\d+/, (seconds) => String(Number(seconds) + 60))
    expect(isFormToken([{ key }], link, prolonged, nowMs)).toBe(false)
    expect(isFormToken([{ key }], link, '', nowMs)).toBe(false)
  })
})

describe('origins', () => {
  const crossSite = (headers: Record<string, string>) =>
    isCrossSite({ headers } as unknown as FastifyRequest, 'https://pay.example')

  it('a form from the page itself passes, with or without browser headers', () => {
    expect(crossSite({ host: 'pay.example' })).toBe(false)
    expect(crossSite({ host: 'internal:8080', origin: 'https://pay.example' })).toBe(false)
    expect(crossSite({ host: 'localhost:8080', origin: 'http://localhost:8080' })).toBe(false)
    expect(crossSite({ host: 'pay.example', 'sec-fetch-site': 'same-origin' })).toBe(false)
  })

  it('a form of another site does not', () => {
    expect(crossSite({ host: 'pay.example', origin: 'https://evil.example' })).toBe(true)
    expect(crossSite({ host: 'pay.example', origin: 'null' })).toBe(true)
    expect(crossSite({ host: 'pay.example', 'sec-fetch-site': 'cross-site' })).toBe(true)
    expect(crossSite({ host: 'pay.example', 'sec-fetch-site': 'same-site' })).toBe(true)
  })
})

it('a link token is 43 characters of base64url', () => {
  expect(isLinkToken(link)).toBe(true)
  for (const text of ['', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}.`, `${link}\n`]) {
    expect(isLinkToken(text)).toBe(false)
  }
})
