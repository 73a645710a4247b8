// Shows which URLs may receive pushes.
import { describe, expect, it } from 'vitest'
import { checkPushUrl } from '#core/text/push-url.ts'

const accepted = [
  'https://example.com',
  'https://EXAMPLE.com./hooks?x=1#y',
  'https://example.com:443/',
  'https://example.com:1024/',
  'https://example.com:65535/',
  'https://xn--bcher-kva.example/x',
  'https://bücher.example/x',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  `https://example.com/${'a'.repeat(2048 - 'https://example.com/'.length)}`,
]
const onlyLocal = [
  'http://example.com/',
  'http://example.com:8080/hook',
  'http://127.0.0.1/',
  'http://localhost/ok',
  'http://127.0.0.1:9000/hook',
  'http://127.8.8.8:9000/hook',
  'https://127.0.0.1/',
  'https://127.0.0.1:9443/',
  'http://localhost:9000/',
  'http://LOCALHOST.:9000/',
  'http://[::1]:9000/',
  'http://2130706433:9000/',
  'http://0x7f.1:9000/',
  'http://0177.0.0.1:9000/',
]
const neverPublic = [
  'https://10.0.0.1/',
  'https://169.254.169.254/latest',
  'https://192.168.0.1:8443/',
  'https://167772161/',
  'https://0xa9fea9fe/',
  'https://0xA.0.0.1/',
  'https://012.0.0.1/',
  'https://10.1/',
  'https://0/',
  'https://255.255.255.255/',
  'https://168.63.129.16/',
  'https://[::]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[64:ff9b::808:808]/',
  'https://[fe80::1]/',
  'https://[fd00::1]/',
  'https://[2002:a00:1::]/',
  'https://①⓪.0.0.1/',
  'https://app.localhost/',
  'https://intranet/',
  'https://intranet./',
  'https://printer.local/',
  'https://metadata.google.internal/',
  'https://metadata.google.internal./',
]
const malformed = [
  '',
  '/hook',
  'example.com',
  '//example.com/',
  'https:example.com',
  'https:/example.com',
  'https://',
  'https:\\\\example.com',
  ' https://example.com',
  'https://example.com/a b',
  'https://exa\tmple.com/',
  'https://example.com/\n',
  'https://example.com/\u0000',
  'https://x:99999/',
  'ftp://example.com/',
  'javascript:alert(1)',
  'file:///etc/passwd',
]

describe('a push URL', () => {
  it.each(accepted)('a push URL may be %s', (url) => {
    expect(checkPushUrl(url, { allowLoopback: false })).toBeUndefined()
    expect(checkPushUrl(url, { allowLoopback: true })).toBeUndefined()
  })

  it.each(onlyLocal)('a push URL may be %s only on a local start', (url) => {
    expect(checkPushUrl(url, { allowLoopback: false })).toBeDefined()
    expect(checkPushUrl(url, { allowLoopback: true })).toBeUndefined()
  })

  it.each(neverPublic)('a push URL may never be %s: its host is not public', (url) => {
    expect(checkPushUrl(url, { allowLoopback: false })).toBe('must name a public host')
    expect(checkPushUrl(url, { allowLoopback: true })).toBe('must name a public host')
  })

  it('a push URL may not be private on a local start either', () => {
    expect(checkPushUrl('http://10.0.0.1/', { allowLoopback: true })).toBe(
      'must name a public host',
    )
  })

  it.each(malformed)('a push URL may not be "%s": it is no https URL', (url) => {
    expect(checkPushUrl(url, { allowLoopback: false })).toBe('must be an absolute https URL')
    expect(checkPushUrl(url, { allowLoopback: true })).toBe('must be an absolute https URL')
  })

  it.each(['https://u@example.com/', 'https://u:p@example.com/', 'https://:p@example.com/'])(
    'a push URL may not be %s: it holds user information',
    (url) => {
      expect(checkPushUrl(url, { allowLoopback: true })).toContain('user name')
    },
  )

  it.each(['https://example.com:80/', 'https://example.com:1023/', 'https://example.com:0/'])(
    'a push URL may not be %s: its port is closed to pushes',
    (url) => {
      expect(checkPushUrl(url, { allowLoopback: false })).toContain('port')
    },
  )

  it.each(['http://127.0.0.1:443/', 'http://localhost:22/', 'https://localhost:25/'])(
    'a push URL may not be %s even where loopback is allowed: its port is closed to pushes',
    (url) => {
      expect(checkPushUrl(url, { allowLoopback: true })).toContain('port')
    },
  )

  it('a push URL is at most 2,048 characters long', () => {
    const url = `https://example.com/${'a'.repeat(2049 - 'https://example.com/'.length)}`
    expect(checkPushUrl(url, { allowLoopback: false })).toBe('must be at most 2048 characters')
  })
})
