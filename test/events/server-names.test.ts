// How a process reaches the broker by the names of its servers: through the system's resolver, and only a server whose
// certificate has the name.

import dgram from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectNats, ensureOnce, type Nats } from '#platform/events/nats/nats.ts'
import { type Authority, issueCertificate, openAuthority } from '../../deploy/local/certificates.ts'
import { type NatsServer, startNats } from '../../deploy/local/nats/nats.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'
import { log } from './harness.ts'

const shared = new URL(process.env['TEST_NATS_URL'] ?? '')

describe('a name server that does not answer', () => {
  const silent = dgram.createSocket('udp4')
  const asked: Buffer[] = []
  const usual = dns.getServers()
  let nats: Nats | undefined

  beforeAll(async () => {
    silent.on('message', (question) => asked.push(question))
    silent.bind(0, '127.0.0.1')
    await once(silent, 'listening')
    dns.setServers([`127.0.0.1:${silent.address().port}`])
  })
  afterAll(async () => {
    dns.setServers(usual)
    silent.close()
    await nats?.close()
  })

  it('a name server that does not answer is not asked for a name that the hosts file has', async () => {
    const url = new URL(shared)
    url.hostname = 'localhost'
    nats = connectNats({ url: url.href, name: url.username, log })
    await eventually(() => nats?.ready() === true || asked.length > 0)
    expect({ ready: nats.ready(), asked: asked.length }).toEqual({ ready: true, asked: 0 })
  })
})

describe('a list of servers', () => {
  let nats: Nats | undefined
  afterEach(() => nats?.close())

  it('a list of servers is tried to its end', async () => {
    const [closed = 0] = await freePorts(1)
    const dead = Array.from({ length: 3 }, (_, index) => {
      const url = new URL(shared)
      url.hostname = `127.0.0.${index + 2}`
      url.port = String(closed)
      return url.href
    })
    nats = connectNats({ url: [...dead, shared.href].join(','), name: shared.username, log })
    await eventually(() => expect(nats?.ready()).toBe(true))
  })
})

describe('over TLS', () => {
  let folder: string
  let authority: Authority
  const servers: NatsServer[] = []

  beforeAll(async () => {
    folder = temporaryFolder('nats-tls')
    authority = await openAuthority(path.join(folder, 'authority'))
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    fs.rmSync(folder, { recursive: true })
  })

  /** The port of a server that shows a certificate with these names. */
  async function serverWith(...names: string[]): Promise<number> {
    const [port = 0] = await freePorts(1)
    const dataDir = path.join(folder, `server-${port}`)
    const tls = path.join(folder, `tls-${port}`)
    await issueCertificate(authority, tls, { names })
    const file = (name: string) => JSON.stringify(path.join(tls, name))
    const users = [`tls: { cert_file: ${file('tls.crt')}, key_file: ${file('tls.key')} }`]
    servers.push(await startNats({ dataDir, port, users, log: () => {} }))
    return port
  }
  const otherName = {
    errors: [{ cause: { message: expect.stringContaining('altnames') as unknown } }],
  }
  const connecting = (url: string) =>
    ensureOnce({ url, name: 'test', log, access: { caFile: authority.certificate } }, [])

  it('over TLS, a server is known by the name or the address that its URL has', async () => {
    const named = await serverWith('DNS:localhost')
    await expect(connecting(`tls://localhost:${named}`)).resolves.toMatch(/^\d+\./)
    const addressed = await serverWith('IP:127.0.0.1')
    await expect(connecting(`tls://127.0.0.1:${addressed}`)).resolves.toMatch(/^\d+\./)
  })

  it('over TLS, a server whose certificate has another name is refused', async () => {
    const other = await serverWith('DNS:other.test')
    await expect(connecting(`tls://localhost:${other}`)).rejects.toMatchObject(otherName)
    const named = await serverWith('DNS:localhost')
    await expect(connecting(`tls://127.0.0.1:${named}`)).rejects.toMatchObject(otherName)
  })

  it('over TLS, each server of a list is held against its own name', async () => {
    const other = await serverWith('DNS:other.test')
    const addressed = await serverWith('IP:127.0.0.1')
    const both = `tls://localhost:${other},tls://127.0.0.1:${addressed}`
    await expect(connecting(both)).resolves.toMatch(/^\d+\./)
  })
})
