// Runs NATS servers with the configuration of the manifests and the secrets of a bootstrap: each user may do its work there, and
// only servers with the password of the routes join.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { connect } from 'nats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { type StreamController, startStreamController } from '#platform/events/stream-controller.ts'
import { makeMissing } from '../../deploy/bootstrap/installation.ts'
import { openVault } from '../../deploy/bootstrap/vault.ts'
import { natsProgram } from '../../deploy/local/nats/program.ts'
import { publishSurely } from '../events/harness.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'
import { manifestsRoot } from './kustomize.ts'

const folder = temporaryFolder('nats-users')
const secrets = path.join(folder, 'secrets')
const names = ['nats-0', 'nats-1', 'nats-2']
/** Knows where the servers are, and is none of them. */
const stranger = 'stranger'
const places = [...names, stranger]
const opened: Nats[] = []
const servers: ChildProcess[] = []
let ports: { client: number; route: number; monitor: number }[]
let program: string
let controller: StreamController

beforeAll(async () => {
  const free = await freePorts(3 * places.length)
  ports = places.map((_, index) => {
    const [client = 0, route = 0, monitor = 0] = free.slice(3 * index)
    return { client, route, monitor }
  })
  const vault = openVault(secrets)
  makeMissing(vault, '2099-01-01T00:00:00.000Z')
  vault.close()
  program = await natsProgram({ fallbackDir: folder, log: () => {} })
  // From 2.12 on, servers with empty stores elect their first leader only when all of them vote.
  for (const name of names) startServer(name)
  const nats = await as('stream-controller', 2)
  controller = startStreamController({ nats, log: silentLog })
  await eventually(() => controller.ready(), 40_000)
})

afterAll(async () => {
  await controller.close()
  await Promise.all(opened.map((nats) => nats.close()))
  for (const server of servers) {
    if (server.exitCode !== null || server.signalCode !== null) continue
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  fs.rmSync(folder, { recursive: true })
})

/** Puts each change in its place; what it changes must be there. */
function changed(text: string, changes: [RegExp, string][]): string {
  return changes.reduce((before, [pattern, replacement]) => {
    expect(before).toMatch(pattern)
    return before.replaceAll(pattern, replacement)
  }, text)
}

/** Lays out and starts a server of that name on loopback, with the mounted files of its pod; answers its log. */
function startServer(name: string, changeRoutes: (text: string) => string = (text) => text) {
  const own = ports[places.indexOf(name)] ?? { client: 0, route: 0, monitor: 0 }
  const home = fs.mkdtempSync(path.join(folder, `${name}-`))
  const shipped = (file: string) => fs.readFileSync(path.join(manifestsRoot, 'nats', file), 'utf8')
  const secret = (file: string) =>
    fs.readFileSync(path.join(secrets, 'nats-passwords', file), 'utf8')
  const routes = names.map((other, index): [RegExp, string] => [
    new RegExp(`${other}\\.nats:6222`, 'g'),
    `127.0.0.1:${ports[index]?.route}`,
  ])
  const files = {
    'nats.conf': changed(shipped('nats.conf'), [
      [/^listen: .*$/gm, `listen: "127.0.0.1:${own.client}"`],
      [/^http: .*$/gm, `http: "127.0.0.1:${own.monitor}"`],
      [/^pid_file: .*$/gm, ''],
      [/store_dir: .*/g, `store_dir: "${home}/store"`],
      [/^ {2}listen: .*$/gm, `  listen: "127.0.0.1:${own.route}"`],
    ]),
    'users.conf': shipped('users.conf'),
    'tls.conf': shipped('tls.conf'),
    'cluster-tls.conf': shipped('cluster-tls.conf'),
    'passwords.conf': secret('passwords.conf'),
    'routes.conf': changeRoutes(changed(secret('routes.conf'), routes)),
  }
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(home, file), text)
  const logFile = path.join(home, 'log')
  const log = fs.openSync(logFile, 'w')
  const server = spawn(program, ['--config', path.join(home, 'nats.conf')], {
    env: { SERVER_NAME: name, ROUTE_ADDRESS: `127.0.0.1:${own.route}` },
    stdio: ['ignore', log, log],
  })
  fs.closeSync(log)
  servers.push(server)
  return { server, log: () => fs.readFileSync(logFile, 'utf8') }
}

/** How many other servers one of them has routes to. */
async function routesOf(name: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${ports[places.indexOf(name)]?.monitor}/routez`)
  const { routes } = (await answer.json()) as { routes: { remote_id: string }[] }
  return new Set(routes.map(({ remote_id: remote }) => remote)).size
}

/** The broker as a part of that name sees it: the name is the user, the password is in its secret. */
async function as(name: string, replicas = 1): Promise<Nats> {
  const url = ports.slice(0, 2).map(({ client }) => `nats://127.0.0.1:${client}`)
  const nats = connectNats({
    url: url.join(','),
    name,
    log: silentLog,
    access: { passwordFile: path.join(secrets, `${name}-secrets`, 'nats-password') },
    stream: { replicas },
  })
  opened.push(nats)
  await new Promise<void>((resolve) => nats.onConnected(resolve))
  return nats
}

/** A person by the nats command. */
function asOperator() {
  return connect({
    servers: ports.slice(0, 2).map(({ client }) => `127.0.0.1:${client}`),
    user: 'operator',
    pass: fs.readFileSync(path.join(secrets, 'operator', 'nats-password'), 'utf8'),
    inboxPrefix: '_INBOX_operator',
  })
}

describe('the users of the broker', () => {
  it('the user of payments publishes and that of delivery consumes', async () => {
    const [payments, delivery] = await Promise.all([as('payments'), as('delivery')])
    const durable = { durable: 'delivery-pw-payments-all', subject: 'pw.payments.*' }
    const batches = await eventually(() => delivery.openDurable(durable))
    await publishSurely(payments, 'pw.payments.event', Buffer.from('paid'), 'first')
    const [message] = (await batches.next(1)) ?? []
    expect(Buffer.from(message?.payload ?? '').toString()).toBe('paid')
    message?.ack()
    batches.stop()
  })

  it('the user of accounts publishes invalidations to the gateway and consumes settlements', async () => {
    const [accounts, gateway] = await Promise.all([as('accounts'), as('gateway')])
    const heard: string[] = []
    gateway.subscribe('pw.accounts.access', (payload) => {
      heard.push(Buffer.from(payload).toString())
    })
    const durable = { durable: 'accounts-pw-payments-settled', subject: 'pw.payments.settled' }
    const batches = await eventually(() => accounts.openDurable(durable))
    batches.stop()
    let published = 0
    // The broker may hear of the subscription later than of the invalidation.
    await eventually(async () => {
      published += 1
      await accounts.publish('pw.accounts.access', Buffer.from('revoked'), `second ${published}`)
      expect(heard).toContain('revoked')
    })
  })

  it('the user of the gateway hears of every change of a payment', async () => {
    const [payments, gateway] = await Promise.all([as('payments'), as('gateway')])
    const heard = new Set<string>()
    gateway.subscribe('pw.payments.>', (payload) => heard.add(Buffer.from(payload).toString()))
    const subjects = ['pw.payments.event', 'pw.payments.event.unaddressed', 'pw.payments.settled']
    let published = 0
    // The broker may hear of the subscription later than of the event.
    await eventually(async () => {
      published += 1
      for (const subject of subjects) {
        await payments.publish(subject, Buffer.from(subject), `${subject} ${published}`)
      }
      expect([...heard].toSorted()).toEqual(subjects)
    })
  })

  it('no user publishes events of another, and the gateway publishes none', async () => {
    const [institution, gateway] = await Promise.all([as('institution'), as('gateway')])
    await publishSurely(institution, 'pw.institution.transaction', Buffer.from('done'), 'third')
    await Promise.all(
      [institution, gateway].map((nats) =>
        expect(
          nats.publish('pw.payments.settled', Buffer.from('forged'), 'fourth'),
        ).rejects.toThrow(/refused/),
      ),
    )
  })

  it('the user of operators sees the stream and its consumers, and reads and changes nothing', async () => {
    const operator = await asOperator()
    try {
      const consumer = 'PAYWEAVE.delivery-pw-payments-all'
      for (const name of [
        'STREAM.INFO.PAYWEAVE',
        'CONSUMER.LIST.PAYWEAVE',
        `CONSUMER.INFO.${consumer}`,
      ]) {
        const answer = (await operator.request(`$JS.API.${name}`)).json<object>()
        expect(answer, name).not.toHaveProperty('error')
      }
      const refused = [
        'pw.payments.event',
        '$JS.API.STREAM.MSG.GET.PAYWEAVE',
        '$JS.API.DIRECT.GET.PAYWEAVE',
        `$JS.API.CONSUMER.MSG.NEXT.${consumer}`,
        `$JS.API.CONSUMER.CREATE.PAYWEAVE.mine`,
        `$JS.API.CONSUMER.DELETE.${consumer}`,
        '$JS.API.STREAM.UPDATE.PAYWEAVE',
        '$JS.API.STREAM.PURGE.PAYWEAVE',
        '$JS.API.STREAM.DELETE.PAYWEAVE',
      ]
      for (const subject of refused) {
        await expect(operator.request(subject), subject).rejects.toThrow(/permissions violation/i)
      }
      const errors: string[] = []
      operator.subscribe('pw.>', { callback: (error) => void errors.push(String(error)) })
      await eventually(() => expect(errors.join()).toMatch(/permissions violation/i))
    } finally {
      await operator.close()
    }
  })

  it('the user of operators has another server lead the stream, for which nothing is lost', async () => {
    const operator = await asOperator()
    try {
      const api = '$JS.API.STREAM.LEADER.STEPDOWN.PAYWEAVE'
      const answer = await eventually(() => operator.request(api))
      expect(answer.json()).toMatchObject({ success: true })
    } finally {
      await operator.close()
    }
    await publishSurely(await as('payments'), 'pw.payments.event', Buffer.from('paid'), 'fifth')
  })
})

describe('the servers of the broker', () => {
  it('the servers of the broker join by the password of the routes', async () => {
    await eventually(async () => {
      expect(await Promise.all(names.map(routesOf))).toEqual([2, 2, 2])
    })
  })

  it.each([
    ['no password', (text: string) => text.replaceAll(/route:[0-9a-f]+@|^authorization.*/gm, '')],
    ['another password', (text: string) => text.replaceAll(/[0-9a-f]{48}/g, 'f'.repeat(48))],
  ])('the servers of the broker do not let a server join that has %s', async (_, changeRoutes) => {
    const { server, log } = startServer(stranger, changeRoutes)
    try {
      await eventually(() => expect(log()).toMatch(/Authorization Violation/i))
      // The stranger counts a route while it tries one, again and again; one that has joined counts it for ever.
      await eventually(async () =>
        expect(await Promise.all(places.map(routesOf))).toEqual([2, 2, 2, 0]),
      )
    } finally {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
  })
})
