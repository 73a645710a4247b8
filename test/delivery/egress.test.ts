// Shows that no push reaches an address that is not public, however it is written, named or answered.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  createPoster,
  type Poster,
  type PosterOptions,
} from '../../services/delivery/ports/post.ts'
import { makeCertificate } from '../support/certificate.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const body = Buffer.from('{}')
const never = new AbortController().signal
const posters: Poster[] = []
let receiver: Receiver

function post(url: string, options: Partial<PosterOptions> = {}) {
  const poster = createPoster({
    allowLoopback: false,
    timeoutMs: 15_000,
    version: 'test',
    ...options,
  })
  posters.push(poster)
  return poster.post(url, body, never)
}

beforeAll(async () => {
  receiver = await startReceiver()
})
afterEach(() => Promise.all(posters.splice(0).map((poster) => poster.close())))
afterAll(() => receiver.close())

describe('where loopback is not allowed', () => {
  const literals = (port: number) => [
    `http://127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}/`,
    `https://localhost:${port}/`,
    `https://LOCALHOST.:${port}/`,
    `https://a.localhost:${port}/`,
    `https://2130706433:${port}/`,
    `https://0x7f000001:${port}/`,
    `https://0177.0.0.1:${port}/`,
    `https://127.1:${port}/`,
    `https://0:${port}/`,
    `https://[::1]:${port}/`,
    `https://[::]:${port}/`,
    `https://[::ffff:127.0.0.1]:${port}/`,
    `https://[::ffff:7f00:1]:${port}/`,
    `https://[64:ff9b::7f00:1]:${port}/`,
    `https://169.254.169.254:${port}/`,
    `https://user@127.0.0.1:${port}/`,
  ]

  it('where loopback is not allowed, every notation of this machine is blocked and nothing is connected', async () => {
    const ends = await Promise.all(literals(receiver.port).map((url) => post(url)))
    expect(ends.map(({ outcome, error }) => `${outcome} ${error}`)).toEqual(
      ends.map(() => 'blocked url'),
    )
    expect(receiver.connections()).toBe(0)
  })

  it.each([
    ['a private address', ['10.0.0.1']],
    ['this machine', ['127.0.0.1']],
    ['a link-local address', ['169.254.169.254']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['this machine in IPv6', ['::1']],
    ['no address', []],
    ['public and private addresses', ['8.8.8.8', '127.0.0.1']],
    ['private and public addresses', ['127.0.0.1', '2606:4700:4700::1111']],
    ['something unreadable', ['not an address']],
  ])(
    'where loopback is not allowed, a name that leads to %s is blocked and nothing is connected',
    async (_what, addresses) => {
      const url = `https://receiver.example:${receiver.port}/`
      const end = await post(url, { resolve: () => Promise.resolve(addresses) })
      expect(end).toMatchObject({ outcome: 'blocked', error: 'resolved' })
      expect(end.peerAddress).toBeUndefined()
      expect(receiver.connections()).toBe(0)
    },
  )

  it('where loopback is not allowed, a name is resolved once a connection, so the vetted address is the one that is called', async () => {
    let asked = 0
    const resolve = () => {
      asked += 1
      return Promise.resolve([asked === 1 ? '240.0.0.1' : '127.0.0.1'])
    }
    const end = await post(`https://receiver.example:${receiver.port}/`, { resolve })
    expect(end.outcome).toBe('blocked')
    expect(asked).toBe(1)
    expect(receiver.connections()).toBe(0)
  })

  it('where loopback is not allowed, a name that does not resolve is a failure that may pass', async () => {
    const resolve = () =>
      Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
    expect(await post('https://receiver.example/', { resolve })).toMatchObject({
      outcome: 'connection_failed',
      error: 'enotfound',
    })
  })
})

describe('where loopback is allowed', () => {
  it.each(['127.0.0.1', 'localhost', 'LOCALHOST.', '2130706433'])(
    'where loopback is allowed, %s is reached',
    async (host) => {
      const end = await post(`http://${host}:${receiver.port}/`, { allowLoopback: true })
      expect(end).toMatchObject({ outcome: 'delivered', status: 200, peerAddress: '127.0.0.1' })
    },
  )

  it('where loopback is allowed, another name that leads to this machine is blocked all the same', async () => {
    const before = receiver.connections()
    const end = await post(`https://receiver.example:${receiver.port}/`, {
      allowLoopback: true,
      resolve: () => Promise.resolve(['127.0.0.1']),
    })
    expect(end).toMatchObject({ outcome: 'blocked', error: 'resolved' })
    expect(receiver.connections()).toBe(before)
  })

  it.each(['10.0.0.1', '192.168.0.1', '169.254.169.254', '[fd00::1]'])(
    'where loopback is allowed, the private address %s is blocked all the same',
    async (host) => {
      const end = await post(`http://${host}:8080/`, { allowLoopback: true })
      expect(end).toMatchObject({ outcome: 'blocked', error: 'url' })
    },
  )
})

describe('over TLS', () => {
  it('over TLS, a receiver with a trusted certificate is reached', async () => {
    const tls = makeCertificate('IP:127.0.0.1,DNS:localhost')
    const to = await startReceiver(undefined, tls)
    const options = { allowLoopback: true, trustedCertificates: tls.cert }
    expect(await post(to.url, options)).toMatchObject({ outcome: 'delivered', status: 200 })
    expect(await post(`https://localhost:${to.port}/`, options)).toMatchObject({
      outcome: 'delivered',
    })
    expect(to.requests[1]?.headers.host).toBe(`localhost:${to.port}`)
    await to.close()
  })

  it.each([
    ['that nobody vouches for', 'IP:127.0.0.1', 1, false, 'depth_zero_self_signed_cert'],
    ['of another name', 'DNS:example.com', 1, true, 'err_tls_cert_altname_invalid'],
    ['that is over', 'IP:127.0.0.1', -1, true, 'cert_has_expired'],
  ])(
    'over TLS, a certificate %s is a failure and nothing is sent',
    async (_what, subject, days, trusted, error) => {
      const tls = makeCertificate(subject, days)
      const to = await startReceiver(undefined, tls)
      const end = await post(to.url, {
        allowLoopback: true,
        ...(trusted ? { trustedCertificates: tls.cert } : {}),
      })
      expect(end).toMatchObject({ outcome: 'connection_failed', error })
      expect(to.requests).toHaveLength(0)
      await to.close()
    },
  )
})
