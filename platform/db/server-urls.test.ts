// PostgreSQL URLs of one server and of several.
import { describe, expect, it } from 'vitest'
import { changeUrl, hostsOf, serverUrls } from './server-urls.ts'

describe('a database URL', () => {
  it('a database URL of one server stays as it is', () => {
    const url = 'postgres://user:p%40ss@db.example.com:5433/payweave?sslmode=verify-full'
    expect(serverUrls(url)).toEqual([url])
    expect(hostsOf(url)).toBe('db.example.com:5433')
  })

  it('a database URL of three servers gives one URL for each, in order', () => {
    const url =
      'postgresql://user:pass@a:5432,[2001:db8::1]:5433,c/payweave?target_session_attrs=read-write&sslmode=verify-full'
    expect(serverUrls(url)).toEqual([
      'postgresql://user:pass@a:5432/payweave?sslmode=verify-full',
      'postgresql://user:pass@[2001:db8::1]:5433/payweave?sslmode=verify-full',
      'postgresql://user:pass@c/payweave?sslmode=verify-full',
    ])
    expect(hostsOf(url)).toBe('a:5432, [2001:db8::1]:5433, c')
  })

  it('a database URL of several servers keeps them when its login and database change', () => {
    const changed = changeUrl('postgres://owner:secret@a:1,b:2/postgres?sslmode=disable', (url) => {
      url.username = 'payweave_accounts'
      url.password = ''
      url.pathname = '/payweave'
    })
    expect(changed).toBe('postgres://payweave_accounts@a:1,b:2/payweave?sslmode=disable')
  })

  it.each([
    ['http://a/payweave'],
    ['postgres://a,,b/payweave'],
    ['postgres://a,b:70000/payweave'],
    ['postgres://a,b/payweave?target_session_attrs=standby'],
    ['postgres://a/payweave?target_session_attrs=any'],
    ['a,b'],
  ])('a database URL is refused: %s', (url) => {
    expect(() => serverUrls(url)).toThrow(/^(the database URL must|target_session_attrs)/)
  })
})
