// Starts the delivery process with a PostgreSQL, a broker and a producer of events of its own.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { toBinary } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { type Event, EventSchema, InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { openDatabase } from '#platform/db/db.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { insertEvent, startOutbox } from '#platform/events/outbox.ts'
import { consumedSubjects, durablesOf } from '#platform/events/topology.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { startNats } from '../../../deploy/local/nats/nats.ts'
import { makeDatabase, migrateAll } from '../../../deploy/local/postgres/database.ts'
import { startPostgres } from '../../../deploy/local/postgres/postgres.ts'
import { heapOptions } from '../../../deploy/local/process/heap.ts'
import { emptyFolder } from '../systems.ts'
import { paymentSubject } from './payment-event.ts'

/** The delivery process and its dependencies. */
export type DeliverySystem = {
  /** The processes that deliver: PostgreSQL with its descendants. */
  pids: { delivery: number; postgres: number; nats: number }
  /** The superuser's URL of the database. */
  databaseUrl: string
  /** Commits an event as payments does: the publisher claims it. */
  write(event: Event): Promise<void>
  /** Hands an event to the broker as the publisher does, without an outbox. */
  publish(event: Event): Promise<void>
  stop(): Promise<void>
}

const root = path.resolve(import.meta.dirname, '../../..')
const readyWithinMs = 30_000
const { BENCH_PROFILE_DIR: profileDir = '' } = process.env
const log = createLogger({ part: 'bench', level: 'error' })

/** What production has: the settings of a local start are for people who wait for a push. */
const productionSettings = {
  DELIVERY_SCHEDULE_S: '5,30,120,600,1800,3600,7200,14400,28800,43200,57600,86400',
  DELIVERY_BREAKER_OPEN_S: '30',
  DELIVERY_BREAKER_MAX_S: '900',
  LOG_LEVEL: 'info',
}

/** Starts it on an empty folder and on ports from `portBase` up, laid out as in a local start. */
export async function startDeliverySystem(portBase: number): Promise<DeliverySystem> {
  const folder = emptyFolder()
  const server = (name: string, port: number) => ({
    dataDir: path.join(folder, name),
    port: portBase + port,
    log: () => undefined,
  })
  const [postgres, broker] = await Promise.all([
    startPostgres(server('postgres', 20)),
    startNats(server('nats', 21)),
  ])
  const databaseUrl = await makeDatabase(postgres.adminUrl, 'payweave')
  await migrateAll(databaseUrl, log)
  const secrets = path.join(folder, 'secrets')
  writeIdentities(secrets, ['delivery', 'payments'])
  const delivery = await startProcess(portBase, {
    DATABASE_URL: databaseUrl,
    NATS_URL: broker.url,
    SECRETS_DIR: path.join(secrets, 'delivery'),
  })
  const producer = await startProducer({
    databaseUrl,
    natsUrl: broker.url,
    inboxUrl: `http://127.0.0.1:${portBase + 6}`,
    secretsDir: path.join(secrets, 'payments'),
  })
  return {
    pids: { delivery: delivery.pid, postgres: postgres.pid, nats: broker.pid },
    databaseUrl,
    write: producer.write,
    publish: producer.publish,
    async stop() {
      await producer.close()
      await delivery.stop()
      await Promise.all([broker.stop(), postgres.stop()])
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startProcess(portBase: number, env: Record<string, string>) {
  const adminPort = portBase + 16
  const child = fork('services/delivery/main.ts', {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [
      ...heapOptions,
      ...(profileDir === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`]),
    ],
    env: {
      ...process.env,
      PAYWEAVE_ENV: 'local',
      PORT_BASE: String(portBase),
      PORT: String(portBase + 6),
      ADMIN_PORT: String(adminPort),
      ...productionSettings,
      ...env,
    },
  })
  const deadlineMs = performance.now() + readyWithinMs
  while (!(await isReady(`http://127.0.0.1:${adminPort}/readyz`))) {
    if (child.exitCode !== null) throw new Error('the delivery process did not start')
    if (performance.now() > deadlineMs) throw new Error('the delivery process is not ready')
    await sleep(50)
  }
  return {
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined)
  await answer?.body?.cancel()
  return answer?.ok ?? false
}

async function startProducer(at: {
  databaseUrl: string
  natsUrl: string
  inboxUrl: string
  secretsDir: string
}) {
  const db = openDatabase({ url: at.databaseUrl, service: 'payments', log })
  const nats = connectNats({ url: at.natsUrl, name: 'payments', log })
  while (!nats.ready()) await sleep(20)
  await nats.ensureStream(durablesOf(consumedSubjects))
  const pool = createRpcPool(at.inboxUrl)
  const identity = openIdentity({ name: 'payments', dir: at.secretsDir, log })
  const inbox = { url: at.inboxUrl, audience: 'delivery', identity, pool }
  const consumers = { delivery: createRpcClient(InboxService, inbox) }
  const outbox = startOutbox({
    db,
    nats,
    subjects: { [paymentSubject]: { consumers } },
    log,
    metrics: new Registry(),
  })
  return {
    async write({ eventId, subject, projectId, payload }: Event): Promise<void> {
      await db.transaction((tx) => insertEvent(tx, { eventId, subject, projectId, payload }))
      outbox.notify()
    },
    publish: (event: Event) =>
      nats.publish(event.subject, toBinary(EventSchema, event), event.eventId),
    async close(): Promise<void> {
      await outbox.close()
      await Promise.all([nats.close(), pool.close(), db.close()])
    },
  }
}
