// Shows which media types and encodings count as JSON and gzip.
import { describe, expect, it } from 'vitest'
import { acceptsGzip, acceptsJson, isJsonType } from './media-type.ts'

describe('a Content-Type', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json;',
    'application/json ; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset = utf-8 ;',
  ])('%s is JSON', (type) => expect(isJsonType(type)).toBe(true))

  it.each([
    '',
    'text/plain',
    'application/jsonx',
    'application/json;;',
    'application/json; charset=iso-8859-1',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8; charset=utf-8',
    'application/json; profile=x',
    `application/json;${' '.repeat(300)}`,
  ])('%j is not', (type) => expect(isJsonType(type)).toBe(false))
})

describe('an Accept', () => {
  it.each(['*/*', 'application/*', 'text/html, application/json;q=0.5', 'APPLICATION/JSON'])(
    '%s has room for JSON',
    (text) => expect(acceptsJson(text)).toBe(true),
  )

  it.each(['', 'text/html', 'application/jsonx', 'text/html;a=application/json'])(
    '%j has none',
    (text) => expect(acceptsJson(text)).toBe(false),
  )

  it('is read as far as 2,048 characters', () => {
    expect(acceptsJson(`${','.repeat(2_000)}*/*`)).toBe(true)
    expect(acceptsJson(`${','.repeat(2_048)}*/*`)).toBe(false)
  })
})

describe('an Accept-Encoding', () => {
  it.each(['gzip', 'br, gzip', 'gzip;q=0.1', 'deflate,GZIP ; q=1'])('%s takes gzip', (text) =>
    expect(acceptsGzip(text)).toBe(true),
  )

  it.each(['', 'br', 'gzip;q=0', 'gzip; q=0.000', 'xgzip'])('%j does not', (text) =>
    expect(acceptsGzip(text)).toBe(false),
  )
})
