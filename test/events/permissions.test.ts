// Holds the users of the deployed broker against what our processes do: each can do its work, and nothing else.
import fs from 'node:fs'
import path from 'node:path'
import { connect } from 'nats'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { brokerUsers, natsUsers } from '#platform/config/setting.ts'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { type StreamController, startStreamController } from '#platform/events/stream-controller.ts'
import { consumedSubjects, durableName, durablesOf } from '#platform/events/topology.ts'
import { natsPasswordLine } from '../../deploy/bootstrap/nats-passwords.ts'
import { natsProgram } from '../../deploy/local/nats/program.ts'
import { spawnTied, type TiedProcess } from '../../deploy/local/process/tied-process.ts'
import { settledSubject } from '../../services/accounts/ledger/workers/settlement-consumer.ts'
import { subjects as deliverySubjects } from '../../services/delivery/operations/event-intake.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'

type User = (typeof brokerUsers)[number]
const watchers = natsUsers.filter((user) => user !== 'stream-controller')
const deployed = path.resolve(import.meta.dirname, '../../deploy/k8s/nats/users.conf')

let folder: string
let port: number
let server: TiedProcess
let controller: StreamController
const as = {} as Record<User, Nats>

beforeAll(async () => {
  folder = temporaryFolder('permissions')
  ;[port = 0] = await freePorts(1)
  const storage = `jetstream { store_dir: ${JSON.stringify(path.join(folder, 'store'))} }`
  const passwords = natsUsers.map((user) => natsPasswordLine(user, `of-${user}`))
  fs.copyFileSync(deployed, path.join(folder, 'users.conf'))
  fs.writeFileSync(path.join(folder, 'passwords.conf'), passwords.join(''))
  fs.writeFileSync(
    path.join(folder, 'nats.conf'),
    [`listen: "127.0.0.1:${port}"`, storage, 'include "users.conf"'].join('\n'),
  )
  server = await startServer()
  for (const name of brokerUsers) {
    const url = `nats://${name}:of-${name}@127.0.0.1:${port}`
    as[name] = connectNats({ url, name, log: silentLog })
  }
  controller = startStreamController({ nats: as['stream-controller'], log: silentLog })
  await streamIsThere()
})

afterAll(async () => {
  await controller.close()
  await Promise.all(Object.values(as).map((nats) => nats.close()))
  await server.end('SIGTERM', 5_000)
  fs.rmSync(folder, { recursive: true, force: true })
})

async function startServer(): Promise<TiedProcess> {
  const program = await natsProgram({ fallbackDir: folder, log: () => undefined })
  return await spawnTied({
    command: [program, '-c', path.join(folder, 'nats.conf')],
    deathSignal: 'TERM',
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'ignore'],
    cwd: folder,
  })
}

/** Everybody is connected, and the controller has made the stream and the consumers. */
async function streamIsThere(): Promise<void> {
  const isThere = () => controller.ready() && brokerUsers.every((user) => as[user].ready())
  await eventually(isThere, 40_000)
}

let published = 0
const publish = (user: User, subject: string) => {
  published += 1
  return as[user].publish(subject, Buffer.from(subject), `message-${published}`)
}

const ownSubjects = [
  ['payments', 'pw.payments.event'],
  ['payments', 'pw.payments.event.unaddressed'],
  ['payments', 'pw.payments.settled'],
  ['accounts', 'pw.accounts.access'],
  ['accounts', 'pw.accounts.onboarding'],
  ['institution', 'pw.institution.transaction'],
] as const

it('each process publishes its own events and no others', async () => {
  for (const [user, subject] of ownSubjects) {
    await eventually(() => publish(user, subject))
  }
  // Of some of them the broker says nothing, so that each takes as long as one waits.
  const foreign = [
    ['payments', 'pw.accounts.access'],
    ['accounts', 'pw.payments.settled'],
    ['institution', 'pw.payments.event'],
    ['delivery', 'pw.payments.event'],
    ['gateway', 'pw.accounts.access'],
    ['billing', 'pw.payments.event'],
    ['stream-controller', 'pw.payments.event'],
  ] as const
  await Promise.all(
    foreign.map(([user, subject]) =>
      expect(publish(user, subject), `${user} ${subject}`).rejects.toThrow('the broker refused'),
    ),
  )
})

it('processes with a health check for events ask for the stream, and no other process does', async () => {
  for (const user of ['gateway', 'payments', 'accounts', 'institution', 'delivery'] as const) {
    await eventually(() => as[user].checkStream())
  }
  await expect(as.billing.checkStream()).rejects.toThrow('the broker refused')
})

it('the controller makes the consumers that the processes open', () => {
  expect(consumedSubjects).toEqual({ accounts: [settledSubject], delivery: deliverySubjects })
})

it('consumers take in what is theirs, and no other process does', async () => {
  await consumersTakeIn()
  for (const user of ['payments', 'institution', 'gateway'] as const) {
    const spied = { durable: `${user}-pw-accounts-onboarding`, subject: 'pw.accounts.onboarding' }
    await expect(as[user].openDurable(spied), user).rejects.toThrow('the broker refused')
  }
})

async function consumersTakeIn(): Promise<void> {
  for (const user of ['accounts', 'delivery'] as const) {
    for (const { durable, subject } of durablesOf({ [user]: consumedSubjects[user] })) {
      const batches = await eventually(() => as[user].openDurable({ durable, subject }))
      const batch = (await batches.next(10)) ?? []
      expect([durable, batch.length > 0]).toEqual([durable, true])
      for (const message of batch) message.ack()
      batches.stop()
    }
  }
}

/** Requests by which the stream, its messages or a consumer would be changed, with what the broker must know of them. */
function attempts(user: (typeof natsUsers)[number]): [api: string, request: object][] {
  const own = user === 'accounts' ? 'pw.payments.settled' : 'pw.payments.*'
  const durable = durableName(user === 'accounts' ? 'accounts' : 'delivery', own)
  const stream = { name: 'PAYWEAVE', subjects: ['pw.>'], max_age: 604_800_000_000_000 }
  const consumer = { durable_name: durable, filter_subject: own, ack_policy: 'explicit' }
  const forwarding = { ...consumer, deliver_subject: 'pw.payments.event', ack_policy: 'none' }
  return [
    ['STREAM.UPDATE.PAYWEAVE', { ...stream, max_msgs: 1 }],
    ['STREAM.CREATE.PAYWEAVE', stream],
    ['STREAM.CREATE.OTHER', { name: 'OTHER', subjects: ['other.>'] }],
    ['STREAM.PURGE.PAYWEAVE', {}],
    ['STREAM.DELETE.PAYWEAVE', {}],
    ['STREAM.MSG.DELETE.PAYWEAVE', { seq: 1 }],
    ['STREAM.MSG.GET.PAYWEAVE', { seq: 1 }],
    [`CONSUMER.DELETE.PAYWEAVE.${durable}`, {}],
    [
      `CONSUMER.CREATE.PAYWEAVE.${durable}.${own}`,
      { stream_name: 'PAYWEAVE', config: forwarding, action: '' },
    ],
    [
      `CONSUMER.DURABLE.CREATE.PAYWEAVE.${durable}`,
      { stream_name: 'PAYWEAVE', config: { ...consumer, max_ack_pending: 1 } },
    ],
    ['CONSUMER.CREATE.PAYWEAVE', { stream_name: 'PAYWEAVE', config: { ack_policy: 'none' } }],
  ]
}

/** A connection of a user, and the subjects that the broker refuses it. */
async function watch(user: (typeof natsUsers)[number]) {
  const watching = await connect({
    servers: `127.0.0.1:${port}`,
    user,
    pass: `of-${user}`,
    inboxPrefix: `_INBOX_${user}`,
  })
  const refused: string[] = []
  const statuses = watching.status()
  void (async () => {
    for await (const { data, permissionContext } of statuses) {
      if (data === 'PERMISSIONS_VIOLATION') refused.push(permissionContext?.subject ?? '')
    }
  })()
  return { watching, refused }
}

it('operators see the stream and its consumers, and no event', async () => {
  const { watching, refused } = await watch('operator')
  try {
    const manager = await watching.jetstreamManager({ checkAPI: false })
    const streams = await manager.streams.list().next()
    expect(streams.map(({ config }) => config.name)).toEqual(['PAYWEAVE'])
    const consumers = await manager.consumers.list('PAYWEAVE').next()
    const wanted = durablesOf(consumedSubjects).map(({ durable }) => durable)
    expect(consumers.map(({ name }) => name).toSorted()).toEqual(wanted.toSorted())
    const [durable = ''] = wanted
    expect((await manager.consumers.info('PAYWEAVE', durable)).name).toBe(durable)
    expect(refused).toEqual([])
    watching.subscribe('pw.>')
    watching.publish('pw.payments.event', 'forged')
    watching.publish(`$JS.API.CONSUMER.MSG.NEXT.PAYWEAVE.${durable}`)
    await eventually(() =>
      expect(refused.toSorted()).toEqual([
        `$JS.API.CONSUMER.MSG.NEXT.PAYWEAVE.${durable}`,
        'pw.>',
        'pw.payments.event',
      ]),
    )
  } finally {
    await watching.close()
  }
})

it.each(watchers)(
  'the user %s cannot change the stream, its messages or a consumer',
  async (user) => {
    const { watching, refused } = await watch(user)
    try {
      const subjects = attempts(user).map(([api, request]) => {
        watching.publish(`$JS.API.${api}`, JSON.stringify(request))
        return `$JS.API.${api}`
      })
      // Each was refused before it reached JetStream.
      await eventually(() => expect(refused.toSorted()).toEqual(subjects.toSorted()))
    } finally {
      await watching.close()
    }
    // Nothing has other settings than before.
    await expect(
      as['stream-controller'].ensureStream(durablesOf(consumedSubjects)),
    ).resolves.toEqual({ made: [], corrected: [] })
  },
)

it('a wiped broker has stream and consumers again, and every event comes through', async () => {
  const before = new Set(brokerUsers.filter((user) => as[user].ready()))
  expect(before.size).toBe(brokerUsers.length)
  await server.end('SIGKILL', 5_000)
  await eventually(() => brokerUsers.every((user) => !as[user].ready()))
  fs.rmSync(path.join(folder, 'store'), { recursive: true })
  server = await startServer()
  await streamIsThere()
  for (const [user, subject] of ownSubjects) {
    await eventually(() => publish(user, subject))
  }
  await consumersTakeIn()
})

it('invalidations and tails reach their subscribers', async () => {
  const heard: string[] = []
  const hear = (who: string) => (payload: Uint8Array) => {
    heard.push(`${who} ${Buffer.from(payload).toString()}`)
  }
  as.gateway.subscribe('pw.accounts.access', hear('gateway'))
  as.delivery.subscribe('pw.accounts.access', hear('delivery'))
  as.delivery.subscribe('pwtail.delivery.wanted', hear('delivery'))
  // A round trip of each: by then the broker knows of the subscriptions.
  await eventually(async () => {
    await publish('accounts', 'pw.accounts.access')
    as.delivery.announce('pwtail.delivery.wanted', Buffer.from('wanted'))
    expect(new Set(heard)).toEqual(
      new Set(['gateway pw.accounts.access', 'delivery pw.accounts.access', 'delivery wanted']),
    )
  })
})
