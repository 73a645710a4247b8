// The published client's connections: balancing, coming back after a restart, TLS.
import { connect as connectTcp } from 'node:net'
import { createServer } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { makeCertificate } from '../support/certificate.ts'
import { atEnd, connect, errorOf, serve } from './harness.ts'

/** Serves GetPayment with responses that name the server. */
function servePayments(paymentId: string, port = 0) {
  return serve(
    (router) => router.service(PaymentsService, { getPayment: () => ({ payment: { paymentId } }) }),
    { port },
  )
}

describe('connections', () => {
  it('connections go round all addresses of a service', async () => {
    const servers = await Promise.all(['one', 'two', 'three'].map((name) => servePayments(name)))
    const address = `ipv4:${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    const { payments } = connect(address)
    // All are connected once each has answered.
    const answered = new Set<string | undefined>()
    for (let count = 0; count < 300 && answered.size < 3; count += 1) {
      answered.add((await payments.getPayment({})).payment?.paymentId)
    }
    const counts = new Map<string | undefined, number>()
    for (let count = 0; count < 30; count += 1) {
      const name = (await payments.getPayment({})).payment?.paymentId
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect([...counts.values()]).toEqual([10, 10, 10])
  })

  it('connections are made to names, as services in a cluster have them', async () => {
    const { port } = await servePayments('one')
    const { payment } = await connect(`dns:///localhost:${port}`).payments.getPayment({})
    expect(payment?.paymentId).toBe('one')
  })

  it('connections are restored after a restart of the service', async () => {
    const before = await servePayments('before')
    const { payments } = connect(before.url, { retry: { maxAttempts: 50 } })
    expect((await payments.getPayment({})).payment?.paymentId).toBe('before')
    await before.close()
    const call = payments.getPayment({})
    await servePayments('after', before.port)
    expect((await call).payment?.paymentId).toBe('after')
  })
})

describe('TLS', () => {
  /** Ends TLS in front of a server, as a mesh's side-car does. */
  async function serveTls(subject: string, asksForCertificate = false) {
    const { port: plainPort } = await servePayments('secret')
    const { key, cert } = makeCertificate(subject)
    const asks = asksForCertificate && { requestCert: true, ca: cert }
    const front = createServer({ key, cert, ALPNProtocols: ['h2'], ...asks }, (socket) => {
      const behind = connectTcp(plainPort, '127.0.0.1')
      socket.pipe(behind).pipe(socket)
      socket.on('error', () => behind.destroy())
      behind.on('error', () => socket.destroy())
    })
    front.on('tlsClientError', () => undefined)
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    atEnd(() => front.close())
    const address = front.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    return { url: `https://127.0.0.1:${port}`, cert, key }
  }

  it('the client uses TLS for https addresses, with the authorities of the caller', async () => {
    const { url, cert } = await serveTls('IP:127.0.0.1')
    const { payment } = await connect(url, { tls: { ca: cert } }).payments.getPayment({})
    expect(payment?.paymentId).toBe('secret')
  })

  it('the client refuses a server whose certificate it does not trust', async () => {
    const { url } = await serveTls('IP:127.0.0.1')
    const error = await errorOf(connect(url, { retry: false }).payments.getPayment({}))
    expect(error).toMatchObject({ status: 'UNAVAILABLE' })
  })

  it("the client checks the name in the server's certificate", async () => {
    const { url, cert: ca } = await serveTls('DNS:payments.internal')
    const wrong = connect(url, { tls: { ca }, retry: false })
    expect(await errorOf(wrong.payments.getPayment({}))).toMatchObject({ status: 'UNAVAILABLE' })
    const right = connect(url, { tls: { ca, serverName: (part) => `${part}.internal` } })
    expect((await right.payments.getPayment({})).payment?.paymentId).toBe('secret')
  })

  it('the client presents its certificate to a service that asks for one', async () => {
    const { url, cert, key } = await serveTls('IP:127.0.0.1', true)
    const unknown = connect(url, { tls: { ca: cert }, retry: false })
    expect(await errorOf(unknown.payments.getPayment({}))).toMatchObject({ status: 'UNAVAILABLE' })
    const known = connect(url, { tls: { ca: cert, cert, key } })
    expect((await known.payments.getPayment({})).payment?.paymentId).toBe('secret')
  })
})
