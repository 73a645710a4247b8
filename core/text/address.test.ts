// Shows which addresses count as public.
import { describe, expect, it } from 'vitest'
import { isAddress, isLoopback, isPublicAddress, limitKeyOf } from '#core/text/address.ts'

const publicAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '168.63.129.15',
  '223.255.255.255',
  '198.17.255.255',
]
const closedAddresses = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.31.196.1',
  '192.52.193.1',
  '192.88.99.1',
  '192.168.1.1',
  '192.175.48.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.1.1.1',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:0808:0808',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:1::1',
  '2001:20::1',
  '2001:1ff:ffff::1',
  '2001:db8::1',
  '2002:808:808::1',
  '2620:4f:8000::1',
  '3fff::1',
]
const unreadable = [
  '',
  'example.com',
  '1.2.3',
  '1.2.3.4.5',
  '256.1.1.1',
  '01.2.3.4',
  '0x7f.1.1.1',
  '1.2.3.4 ',
  'fe80::1%eth0',
  '2606:4700::1::1',
  '2606:4700',
  ':1',
  '1:',
  '12345::',
  '[::1]',
  ':::',
]

describe('an address', () => {
  it.each(publicAddresses)('%s is public', (ip) => {
    expect(isPublicAddress(ip)).toBe(true)
  })

  it.each(closedAddresses)('%s is an address and not public', (ip) => {
    expect(isAddress(ip)).toBe(true)
    expect(isPublicAddress(ip)).toBe(false)
  })

  it.each(unreadable)('an address "%s" is no address, so it is not public', (ip) => {
    expect(isAddress(ip)).toBe(false)
    expect(isPublicAddress(ip)).toBe(false)
    expect(isLoopback(ip)).toBe(false)
  })

  it.each(['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1'])('%s is loopback', (ip) => {
    expect(isLoopback(ip)).toBe(true)
  })

  it.each(['128.0.0.1', '::2', '0.0.0.0', '::ffff:127.0.0.1'])('%s is not loopback', (ip) => {
    expect(isLoopback(ip)).toBe(false)
  })
})

describe('the key of a limit by address', () => {
  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['192.0.2.1', '::FFFF:c000:201'],
    ['2001:db8:0:1::1', '2001:DB8:0:1:ffff:ffff:ffff:ffff'],
    ['fe80::1%eth0', 'fe80::2'],
  ])('%s counts as the same client as %s', (one, other) => {
    expect(limitKeyOf(one)).toBe(limitKeyOf(other))
  })

  it.each([
    ['192.0.2.1', '192.0.2.2'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['::ffff:192.0.2.1', '::192.0.2.1'],
    ['2001:db8:0:1::1', '2001:db8:0:2::1'],
    ['', '::'],
  ])('%s counts as another client than %s', (one, other) => {
    expect(limitKeyOf(one)).not.toBe(limitKeyOf(other))
  })
})
