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
  ])('the Content-Type %s is JSON', (type) => expect(isJsonType(type)).toBe(true))

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
  ])('the Content-Type %j is not JSON', (type) => expect(isJsonType(type)).toBe(false))
})

describe('an Accept', () => {
  it.each(['*/*', 'application/*', 'text/html, application/json;q=0.5', 'APPLICATION/JSON'])(
    'the Accept header %s allows JSON',
    (text) => expect(acceptsJson(text)).toBe(true),
  )

  it.each(['', 'text/html', 'application/jsonx', 'text/html;a=application/json'])(
    'the Accept header %j does not allow JSON',
    (text) => expect(acceptsJson(text)).toBe(false),
  )

  it('an Accept header is read as far as 2,048 characters', () => {
    expect(acceptsJson(`${','.repeat(2_000)}*/*`)).toBe(true)
    expect(acceptsJson(`${','.repeat(2_048)}*/*`)).toBe(false)
  })
})

describe('an Accept-Encoding', () => {
  it.each(['gzip', 'br, gzip', 'gzip;q=0.1', 'deflate,GZIP ; q=1'])(
    'the Accept-Encoding header %s allows gzip',
    (text) => expect(acceptsGzip(text)).toBe(true),
  )

  it.each(['', 'br', 'gzip;q=0', 'gzip; q=0.000', 'xgzip'])(
    'the Accept-Encoding header %j does not allow gzip',
    (text) => expect(acceptsGzip(text)).toBe(false),
  )
})
