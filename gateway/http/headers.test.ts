// Tests which address a request comes from, with and without proxies.
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { clientIpReader, parseRanges } from './headers.ts'

function read(trusted: string[], remoteAddress: string, headers: Record<string, string> = {}) {
  const request = { socket: { remoteAddress }, headers } as unknown as IncomingMessage
  return clientIpReader(trusted)(request)
}

describe('the address of a client', () => {
  it('the address of a client is the peer’s when no proxy is trusted, in spite of headers', () => {
    const headers = { 'x-forwarded-for': '1.1.1.1', 'cf-connecting-ip': '1.1.1.1' }
    expect(read([], '9.9.9.9', headers)).toEqual({
      request_ip: '9.9.9.9',
      socket_remote_address: '9.9.9.9',
    })
    expect(read(['10.0.0.0/8'], '9.9.9.9', headers).request_ip).toBe('9.9.9.9')
  })

  it('the address of a client is shown as IPv4 when the system maps it into IPv6', () => {
    expect(read([], '::ffff:9.9.9.9').request_ip).toBe('9.9.9.9')
    expect(read([], '2001:db8::1').request_ip).toBe('2001:db8::1')
  })

  it.each([
    ['1.1.1.1', '1.1.1.1'],
    ['6.6.6.6, 1.1.1.1, 10.0.0.9', '1.1.1.1'],
    ['6.6.6.6,1.1.1.1', '1.1.1.1'],
    ['10.0.0.8, 10.0.0.9', '10.0.0.8'],
    ['unknown, 10.0.0.9', '10.0.0.9'],
    ['1.1.1.1, ', '10.0.0.1'],
    ['', '10.0.0.1'],
    [',', '10.0.0.1'],
    [',10.0.0.9', '10.0.0.9'],
    ['2001:db8::7', '2001:db8::7'],
  ])('the address of a client behind trusted proxies with "%s" is %s', (forwarded, address) => {
    const headers: Record<string, string> = forwarded === '' ? {} : { 'x-forwarded-for': forwarded }
    expect(read(['10.0.0.0/8'], '10.0.0.1', headers).request_ip).toBe(address)
  })

  it('the address of a client is searched in the last twenty entries', () => {
    const proxies = (count: number) => Array(count).fill('10.0.0.9').join(', ')
    const of = (forwarded: string) =>
      read(['10.0.0.0/8'], '10.0.0.1', { 'x-forwarded-for': forwarded }).request_ip
    expect(of(`1.1.1.1, ${proxies(19)}`)).toBe('1.1.1.1')
    expect(of(`1.1.1.1, ${proxies(20)}`)).toBe('10.0.0.9')
  })

  it('the address of a client echoes what a trusted proxy sent, within bounds', () => {
    const headers = {
      'x-forwarded-for': `1.1.1.1${' '.repeat(2_000)}`,
      'cf-connecting-ip': '2.2.2.2',
    }
    const seen = read(['10.0.0.1'], '10.0.0.1', headers)
    expect(seen.cf_connecting_ip).toBe('2.2.2.2')
    expect(seen.x_forwarded_for).toHaveLength(512)
    expect(seen.request_ip).toBe('1.1.1.1')
  })
})

describe('a list of ranges', () => {
  it('a list of ranges takes addresses and networks of both kinds', () => {
    const matches = parseRanges(['203.0.113.7', '10.0.0.0/8', '2001:db8::/32'])
    expect(['203.0.113.7', '10.255.0.1', '2001:db8:1::1'].map(matches)).toEqual([true, true, true])
    expect(['203.0.113.8', '11.0.0.1', '2001:db9::1', 'text', ''].map(matches)).toEqual(
      Array(5).fill(false),
    )
  })

  it.each(['', 'localhost', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '2001:db8::/129'])(
    'a list of ranges refuses "%s"',
    (range) => {
      expect(() => parseRanges([range])).toThrow(RangeError)
    },
  )
})
