// Mutual TLS between processes, with authorities made for the test: accepted and refused peers, and certificates that change.

import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import * as grpc from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import {
  type Authority,
  issueCertificate,
  openAuthority,
} from '../../../deploy/local/certificates.ts'
import { dialCallStream } from '../../testing/rpc/call-streams.ts'
import {
  bearerCredential,
  listeningLog,
  newSecrets,
  startInbox,
} from '../../testing/rpc/harness.ts'
import { startProxy } from '../../testing/rpc/tcp-proxy.ts'
import { createRpcClient, createRpcPool } from '../client/client.ts'
import type { ServeRpcOptions } from '../server/server.ts'
import { bearerIdentity, openIdentity } from './identity.ts'
import { type MeshTls, namesOf, openTls } from './tls.ts'

let home: string
let secrets: string
let authority: Authority
const at = (name: string) => join(home, name)
const named = (name: string, days = 1) => ({ names: [`DNS:payweave-${name}`], days })

beforeAll(async () => {
  home = fs.mkdtempSync(join(tmpdir(), 'payweave-mtls-'))
  secrets = newSecrets()
  const others = await openAuthority(at('others'))
  authority = await openAuthority(at('ours'))
  await Promise.all([
    issueCertificate(authority, at('delivery'), named('delivery')),
    issueCertificate(authority, at('payments'), {
      names: ['DNS:payments', 'URI:spiffe://payweave/ns/mesh/payweave-payments'],
    }),
    issueCertificate(authority, at('expired'), named('payments', -1)),
    issueCertificate(authority, at('team'), { names: ['DNS:team-orders'], isClientOnly: true }),
    issueCertificate(others, at('foreign'), named('payments')),
  ])
  fs.copyFileSync(authority.certificate, join(at('foreign'), 'ca.crt'))
})

afterAll(() => fs.rmSync(home, { recursive: true }))

const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const { log } = listeningLog()
const identityOf = (name: string, tls?: MeshTls) => ({
  ...openIdentity({ name, dir: join(secrets, name), log }),
  ...(tls && { tls }),
})

async function start(options: Partial<ServeRpcOptions> = {}, tls = openTls(at('delivery'), log)) {
  const identity = identityOf('delivery', tls)
  const { server } = await startInbox(() => ({}), { identity, ...options })
  closers.push(() => server.close())
  return { url: `https://127.0.0.1:${server.port}` }
}

/** Outcome of a call by a process that shows a certificate. */
async function callAs(url: string, name: string, tls?: MeshTls, audience = 'delivery') {
  const identity = identityOf(name, tls)
  const pool = createRpcPool(url, { audience, identity })
  closers.push(() => pool.close())
  const client = createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
  return client.seen({ eventIds: [newId()] }).then(
    () => 'answered',
    (error: { reason?: string }) => error.reason,
  )
}

describe('a port that requires certificates', () => {
  it('a port that requires certificates accepts the process that a certificate names, and its token too', async () => {
    const { url } = await start()
    expect(await callAs(url, 'payments', openTls(at('payments'), log))).toBe('answered')
  })

  it('a port that requires certificates refuses others: no certificate, foreign, expired, in plain text', async () => {
    const { url } = await start()
    const refused = 'SERVICE_UNAVAILABLE'
    for (const folder of ['foreign', 'expired']) {
      expect([folder, await callAs(url, 'payments', openTls(at(folder), log))]).toEqual([
        folder,
        refused,
      ])
    }
    expect(await callAs(url.replace('https', 'http'), 'payments')).toBe(refused)
    const bare = createGrpcTransport({
      baseUrl: url,
      nodeOptions: {
        ca: fs.readFileSync(authority.certificate),
        checkServerIdentity: () => undefined,
      },
    })
    await expect(createClient(InboxService, bare).seen({ eventIds: [newId()] })).rejects.toThrow(
      /alert|certificate/i,
    )
  })

  it('a port that requires certificates refuses a token that comes with the certificate of another process', async () => {
    const { url } = await start()
    const stolen = await callAs(url, 'payments', openTls(at('delivery'), log))
    expect(stolen).toBe('SERVICE_UNAVAILABLE')
  })

  it('a caller does not take a port that requires certificates for another process', async () => {
    const { url } = await start()
    const answer = await callAs(url, 'payments', openTls(at('payments'), log), 'accounts')
    expect(answer).toBe('SERVICE_UNAVAILABLE')
  })
})

function tlsOf(name: string) {
  const read = (file: string) => fs.readFileSync(join(at(name), file))
  return {
    ca: read('ca.crt'),
    key: read('tls.key'),
    cert: read('tls.crt'),
    checkServerIdentity: () => undefined,
  }
}

describe('a call stream between certificates', () => {
  it('our client uses call streams over mutual TLS', async () => {
    const { url } = await start()
    const proxy = await startProxy(url)
    const tls = openTls(at('payments'), log)
    const identity = identityOf('payments', tls)
    const proxied = proxy.url.replace('http:', 'https:')
    const pool = createRpcPool(proxied, { audience: 'delivery', identity })
    closers.push(
      () => proxy.close(),
      () => pool.close(),
    )
    const options = { url: proxied, audience: 'delivery', identity, pool }
    const client = createRpcClient(InboxService, options)
    // Over HTTP each of these larger crowds would need more connections than the last.
    let before = -1
    for (let crowd = 1; before !== proxy.others; crowd += 10) {
      expect(crowd).toBeLessThan(250)
      before = proxy.others
      const calls = Array.from({ length: crowd }, () => client.seen({ eventIds: [newId()] }))
      await Promise.all(calls)
    }
  })

  it.each([
    ['lets in the process of its certificate', 0, 'payments'],
    ['lets in no token of another process', 401, 'delivery'],
  ])('a call stream between certificates %s', async (_, status, shown) => {
    const { url } = await start()
    const token = (name: string) => identityOf(name).authorization('delivery')
    const dialled = await dialCallStream(Number(new URL(url).port), {
      authorization: token(shown),
      tls: tlsOf(shown),
    })
    closers.push(async () => dialled.close())
    const path = '/payweave.events.v1.InboxService/Seen'
    dialled.send({ callId: 1, path, authorization: token('payments') })
    expect((await dialled.next()).status).toBe(status)
  })

  it('a call stream between certificates is not opened with the token of another process', async () => {
    const { url } = await start()
    const authorization = identityOf('payments').authorization('delivery')
    const tls = tlsOf('delivery')
    const dialled = await dialCallStream(Number(new URL(url).port), { authorization, tls })
    closers.push(async () => dialled.close())
    expect(dialled.head).toMatchObject({ 'grpc-status': '16' })
  })
})

it("a gRPC client that is not ours connects by ALPN, with a team's certificate and a bearer", async () => {
  const { url } = await start()
  const read = (file: string) => fs.readFileSync(join(at('team'), file))
  const credentials = grpc.credentials.createSsl(read('ca.crt'), read('tls.key'), read('tls.crt'))
  const client = new grpc.Client(new URL(url).host, credentials, {
    'grpc.ssl_target_name_override': 'payweave-delivery',
  })
  const metadata = new grpc.Metadata()
  metadata.set('authorization', bearerIdentity(bearerCredential).authorization('delivery'))
  const asBytes = (bytes: Buffer) => bytes
  const answer = await new Promise<Buffer | undefined>((resolve, reject) => {
    const method = '/payweave.events.v1.InboxService/Seen'
    client.makeUnaryRequest(method, asBytes, asBytes, Buffer.alloc(0), metadata, (error, value) => {
      if (error === null) resolve(value)
      else reject(error)
    })
  })
  client.close()
  expect(answer).toEqual(Buffer.alloc(0))
})

it('certificates and authorities change without a restart, and both authorities are trusted in between', async () => {
  let nowMs = 0
  const now = () => (nowMs += 2_000)
  const folders = ['rotating-delivery', 'rotating-payments'].map(at) as [string, string]
  const [serving, calling] = folders
  await issueCertificate(authority, serving, named('delivery'))
  await issueCertificate(authority, calling, named('payments'))
  const next = await openAuthority(at('next'))
  const { url } = await start({}, openTls(serving, log, now))
  const tls = openTls(calling, log, now)
  const call = () => callAs(url, 'payments', tls)
  expect(await call()).toBe('answered')

  const both = Buffer.concat([authority, next].map((one) => fs.readFileSync(one.certificate)))
  for (const folder of folders) fs.writeFileSync(join(folder, 'ca.crt'), both)
  expect(await call()).toBe('answered')
  await issueCertificate(next, serving, named('delivery'))
  fs.writeFileSync(join(serving, 'ca.crt'), both)
  expect(await call()).toBe('answered')
  // The server has left the old authority, the caller has not.
  fs.copyFileSync(next.certificate, join(serving, 'ca.crt'))
  expect(await call()).toBe('SERVICE_UNAVAILABLE')
  await issueCertificate(next, calling, named('payments'))
  expect(await call()).toBe('answered')

  // Files that do not fit together are not taken.
  fs.writeFileSync(join(serving, 'tls.crt'), 'half a file')
  expect(await call()).toBe('answered')
})

it('only names of ours in a certificate stand for a process', () => {
  expect(namesOf('DNS:payweave-payments, DNS:payments')).toEqual(['payments'])
  expect(namesOf('URI:spiffe://payweave/a/payweave-gateway')).toEqual(['gateway'])
  expect(
    namesOf('DNS:x.payweave-payments, DNS:payweave-payments.evil, IP Address:1.2.3.4'),
  ).toEqual([])
  expect(namesOf('DNS:"a, DNS:payweave-payments, b"')).toEqual([])
  expect(namesOf(undefined)).toEqual([])
})
