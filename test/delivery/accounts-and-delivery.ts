// Starts accounts and delivery as their processes put them together, with a broker and RPC; harness.ts starts workers alone.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { connect } from 'nats'
import { Registry } from 'prom-client'
import { AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { OnboardingKind } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { startConsumer } from '#platform/events/inbox.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { accessService } from '../../services/accounts/access/api/access.ts'
import { sealAuthorisationToken } from '../../services/accounts/access/operations/institution-keys.ts'
import {
  accessSubject,
  onboardingSubject,
  publishAccessChanged,
  publishOnboarded,
} from '../../services/accounts/access/ports/events.ts'
import { startDeliveries } from '../../services/delivery/engine.ts'
import { subjects } from '../../services/delivery/operations/event-intake.ts'
import { startBroker } from '../events/harness.ts'
import { createTestDatabase } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'
import { completedAccount, type Onboarding } from './onboarding-event.ts'

/** Every process that takes part, and one that may not ask for secrets. */
const processes = ['accounts', 'delivery', 'launcher', 'gateway']

/** Pauses between attempts: long enough that two attempts are never in the same second. */
const scheduleS = [2, 2]

export type AccountsAndDelivery = Awaited<ReturnType<typeof startAccountsAndDelivery>>

/** Starts both services. `close` stops all and removes what they stored. */
export async function startAccountsAndDelivery() {
  const folder = temporaryFolder('signed')
  writeIdentities(folder, processes, [])
  const broker = await startBroker()
  const database = await createTestDatabase('accounts', migrationFolders('accounts'))
  await database.migrate('delivery', migrationFolders('delivery'))
  const lines: string[] = []
  const log = createLogger({
    part: 'test',
    level: 'debug',
    destination: { write: (line: string) => void lines.push(line) },
  })
  const identityOf = (name: string) => openIdentity({ name, dir: path.join(folder, name), log })
  const [accountsPort = 0, deliveryPort = 0] = await freePorts(2)
  const at = (port: number, audience: string, caller: string) => ({
    url: `http://127.0.0.1:${port}`,
    audience,
    identity: identityOf(caller),
  })
  const published = await listenToAll(broker.url)

  const accountsDb = database.open()
  const secrets = { pepper: fixedKeys(), seal: fixedKeys() }
  const accountsNats = connectNats({ url: broker.url, name: 'accounts', log })
  const outbox = startOutbox({
    db: accountsDb,
    nats: accountsNats,
    subjects: {
      [accessSubject]: { consumers: {} },
      [onboardingSubject]: {
        consumers: {
          delivery: createRpcClient(InboxService, at(deliveryPort, 'delivery', 'accounts')),
        },
      },
    },
    log,
    metrics: new Registry(),
  })
  const administration = { db: accountsDb, secrets, publishAccessChanged, notify: outbox.notify }
  const serveAccounts = () =>
    serveRpc({
      host: '127.0.0.1',
      port: accountsPort,
      identity: identityOf('accounts'),
      log,
      routes: (router) => void router.service(AccessService, accessService(administration)),
    })
  let accountsRpc = await serveAccounts()

  const db = database.open({ service: 'delivery' })
  const nats = connectNats({ url: broker.url, name: 'delivery', log })
  const metrics = new Registry()
  let heldMs: number | undefined
  const deliveries = startDeliveries({
    db,
    settings: {
      deliveryAllowLoopback: true,
      deliveryBreakerOpenS: 1,
      deliveryBreakerMaxS: 2,
      deliveryScheduleS: scheduleS,
      deliveryTimeoutS: 5,
    },
    log,
    metrics,
    access: createRpcClient(AccessService, at(accountsPort, 'accounts', 'delivery')),
    nats,
    version: '0.0.0-test',
    nowMs: () => heldMs ?? performance.now(),
  })
  const { takeIn } = deliveries
  const consumer = startConsumer({ db, nats, durable: 'delivery', subjects, takeIn, log, metrics })
  const deliveryRpc = await serveRpc({
    host: '127.0.0.1',
    port: deliveryPort,
    identity: identityOf('delivery'),
    log,
    routes: (router) => inboxRoutes(router, db),
  })
  const owner = database.open({ service: undefined })
  const access = (caller: string) =>
    createRpcClient(AccessService, at(accountsPort, 'accounts', caller))

  return {
    access,
    projectId: randomUUID(),
    /** Makes an institution as an operator does. */
    async institution() {
      const name = `Wallet ${randomUUID()}`
      const wanted = { name, environment: Environment.SANDBOX }
      const { institution, key } = await access('launcher').createInstitution(wanted)
      if (institution === undefined || key === undefined) throw new Error('no institution was made')
      return { ...institution, key }
    },
    /** Gives it a new key as an operator does. */
    async rotate(institutionId: string) {
      const { key } = await access('launcher').rotateInstitutionKey({ institutionId })
      if (key === undefined) throw new Error('no key was made')
      return key
    },
    /** Publishes a completed onboarding as accounts does: sealed, and in a transaction. */
    async onboard(
      projectId: string,
      institution: { institutionId: string; name: string },
      wanted: { callbackUrl: string; token: string } & Partial<Onboarding>,
    ): Promise<void> {
      const { institutionId, name: institutionName } = institution
      const { callbackUrl, token, ...changes } = wanted
      const sealed = await sealAuthorisationToken(accountsDb, secrets, institutionId, token)
      await accountsDb.transaction((tx) =>
        publishOnboarded(tx, projectId, {
          kind: OnboardingKind.ONBOARDING,
          requestId: randomUUID(),
          institutionId,
          institutionName,
          account: { ...completedAccount, accountId: randomUUID() },
          callbackUrl,
          authorisationTokenSealed: sealed,
          ...changes,
        } as Onboarding),
      )
      outbox.notify()
    },
    /** Has delivery forget no secret by itself, however long this takes, until the returned function is called. */
    remember() {
      heldMs = performance.now()
      return () => {
        heldMs = undefined
      }
    },
    /** Stops the RPCs of accounts, as seen from delivery, until the returned function is called. */
    async stopAccounts() {
      await accountsRpc.close()
      return async () => {
        accountsRpc = await serveAccounts()
      }
    },
    attempts: (projectId: string) =>
      owner.rows<{ outcome: string; error: string | null; failures: number; state: string }>(
        sql(
          'signed_attempts',
          `select outcome, error, failures, state
           from delivery.attempt join delivery.delivery using (delivery_id)
           where project_id = $1 order by number`,
        ),
        [projectId],
      ),
    /** Events that accounts wrote and delivery has not confirmed. */
    unconfirmed: async () =>
      (
        await owner.rows(
          sql('signed_unconfirmed', 'select 1 from accounts.outbox where confirmed_at is null'),
          [],
        )
      ).length,
    /** All that was logged, published and stored, as text. */
    async traces(): Promise<string[]> {
      const tables = await owner.rows<{ name: string }>(
        sql(
          'signed_tables',
          `select format('%I.%I', schemaname, tablename) as name from pg_tables
           where schemaname in ('accounts', 'delivery')`,
        ),
        [],
      )
      const stored: string[] = []
      for (const [index, { name }] of tables.entries()) {
        const rows = sql(`signed_dump_${index}`, `select t::text as row from ${name} as t`)
        stored.push(...(await owner.rows<{ row: string }>(rows, [])).map(({ row }) => row))
      }
      return [...lines, ...published.texts, ...stored]
    },
    async close() {
      await consumer.close()
      await deliveryRpc.close()
      await deliveries.close()
      await outbox.close()
      await accountsRpc.close()
      await Promise.all([nats.close(), accountsNats.close(), published.close()])
      await database.drop()
      await broker.remove()
      fs.rmSync(folder, { recursive: true })
    },
  }
}

/** Everything that goes over the broker: bytes as text and as hex. */
async function listenToAll(url: string) {
  const { username, password, host } = new URL(url)
  const connection = await connect({ servers: host, user: username, pass: password })
  const texts: string[] = []
  connection.subscribe('>', {
    callback: (_error, { data }) => {
      const bytes = Buffer.from(data)
      texts.push(bytes.toString('latin1'), bytes.toString('hex'))
    },
  })
  await connection.flush()
  return { texts, close: () => connection.close() }
}
