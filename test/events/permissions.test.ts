// Holds the users of the deployed broker against what our processes do: each can do its work, and nothing else.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { connectNats, type Nats } from '#runtime/events/nats.ts'
import { natsProgram } from '../../deploy/local/nats-program.ts'
import { spawnTied, type TiedProcess } from '../../deploy/local/tied-process.ts'
import { silentLog } from '../support/database.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'

const users = ['gateway', 'payments', 'accounts', 'institution', 'billing', 'delivery'] as const
type User = (typeof users)[number]
const deployed = path.resolve(import.meta.dirname, '../../deploy/k8s/nats/nats.conf')

let folder: string
let server: TiedProcess
const as = {} as Record<User, Nats>

beforeAll(async () => {
  folder = temporaryFolder('permissions')
  const [port = 0] = await freePorts(1)
  const text = fs.readFileSync(deployed, 'utf8')
  const config = path.join(folder, 'nats.conf')
  const passwords = users.map((user) => `${user.toUpperCase()}_PASSWORD: "of-${user}"`)
  const storage = `jetstream { store_dir: ${JSON.stringify(path.join(folder, 'store'))} }`
  const authorization = text.slice(text.indexOf('authorization {'))
  fs.writeFileSync(
    config,
    [`listen: "127.0.0.1:${port}"`, storage, ...passwords, authorization].join('\n'),
  )
  const program = await natsProgram({ fallbackDir: folder, log: () => undefined })
  server = await spawnTied({
    command: [program, '-c', config],
    deathSignal: 'TERM',
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'ignore'],
    cwd: folder,
  })
  for (const name of users) {
    as[name] = connectNats({
      url: `nats://${name}:of-${name}@127.0.0.1:${port}`,
      name,
      log: silentLog,
    })
  }
  await vi.waitUntil(() => users.every((user) => as[user].ready()), { timeout: 40_000 })
})

afterAll(async () => {
  await Promise.all(Object.values(as).map((nats) => nats.close()))
  await server.end('SIGTERM', 5_000)
  fs.rmSync(folder, { recursive: true, force: true })
})

let published = 0
const publish = (user: User, subject: string) => {
  published += 1
  return as[user].publish(subject, Buffer.from(subject), `message-${published}`)
}

it('each process publishes its own events and no others', async () => {
  await vi.waitFor(() => as.payments.ensureStream(), 15_000)
  for (const [user, subject] of [
    ['payments', 'pw.payments.event'],
    ['payments', 'pw.payments.event.unaddressed'],
    ['payments', 'pw.payments.settled'],
    ['accounts', 'pw.accounts.access'],
    ['accounts', 'pw.accounts.onboarding'],
    ['institution', 'pw.institution.transaction'],
  ] as const) {
    await vi.waitFor(() => publish(user, subject), 15_000)
  }
  // Of some of them the broker says nothing, so that each takes as long as one waits.
  const foreign = [
    ['payments', 'pw.accounts.access'],
    ['accounts', 'pw.payments.settled'],
    ['institution', 'pw.payments.event'],
    ['delivery', 'pw.payments.event'],
    ['gateway', 'pw.accounts.access'],
    ['billing', 'pw.payments.event'],
  ] as const
  await Promise.all(
    foreign.map(([user, subject]) =>
      expect(publish(user, subject), `${user} ${subject}`).rejects.toThrow('the broker refused'),
    ),
  )
})

it('consumers take in what is theirs, and no other process does', async () => {
  for (const [user, durable, subject] of [
    ['accounts', 'accounts-pw-payments-settled', 'pw.payments.settled'],
    ['delivery', 'delivery-pw-payments-all', 'pw.payments.*'],
    ['delivery', 'delivery-pw-accounts-onboarding', 'pw.accounts.onboarding'],
  ] as const) {
    const batches = await vi.waitFor(() => as[user].openDurable({ durable, subject }), 15_000)
    const batch = (await batches.next(10)) ?? []
    expect([durable, batch.length > 0]).toEqual([durable, true])
    for (const message of batch) message.ack()
    batches.stop()
  }
  for (const user of ['payments', 'institution', 'gateway'] as const) {
    const spied = { durable: `${user}-pw-accounts-onboarding`, subject: 'pw.accounts.onboarding' }
    await expect(as[user].openDurable(spied), user).rejects.toThrow('the broker refused')
  }
})

it('news and tails reach those who listen', async () => {
  const heard: string[] = []
  const hear = (who: string) => (payload: Uint8Array) => {
    heard.push(`${who} ${Buffer.from(payload).toString()}`)
  }
  as.gateway.subscribe('pw.accounts.access', hear('gateway'))
  as.delivery.subscribe('pw.accounts.access', hear('delivery'))
  as.delivery.subscribe('pwtail.delivery.wanted', hear('delivery'))
  // A round trip of each: by then the broker knows of the subscriptions.
  await vi.waitFor(async () => {
    await publish('accounts', 'pw.accounts.access')
    as.delivery.announce('pwtail.delivery.wanted', Buffer.from('wanted'))
    expect(new Set(heard)).toEqual(
      new Set(['gateway pw.accounts.access', 'delivery pw.accounts.access', 'delivery wanted']),
    )
  }, 30_000)
})
