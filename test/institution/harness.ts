// The institution service on a database of its own, served over RPC, for the tests of this folder.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { TransferState } from '#gen/payweave/backend/v1/transfers_pb.js'
import {
  type CreateTransactionRequestSchema,
  InstitutionService,
  type Transaction,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import {
  TransactionEventSchema,
  TransactionTransition,
} from '#gen/payweave/institution/v1/transaction_event_pb.js'
import {
  TransferOutcome,
  TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { transferReportService } from '../../services/institution/api/reports.ts'
import { institutionService } from '../../services/institution/api/transactions.ts'
import { startInstitution } from '../../services/institution/engine.ts'
import type { InstitutionSettings } from '../../services/institution/operations/institution.ts'
import type { Peers } from '../../services/institution/ports/peers.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { institutionName, newAccounts, type Person } from './accounts.ts'
import { newBackend, newQuotes } from './peers.ts'

const host = '127.0.0.1'

export const settings: InstitutionSettings = {
  backendName: 'simulator',
  enquiryScheduleS: [60, 120, 240],
  transferTtlS: 3_600,
  leaseMs: 30_000,
  patienceMs: 10_000,
}

/** A request, in part. */
export type Order = Extract<
  MessageInitShape<typeof CreateTransactionRequestSchema>,
  { $typeName?: undefined }
>

/** The reason of a refusal, and the field that it names. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const error: unknown = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw error
  return [error.reason, error.details['field']].filter((part) => part !== undefined).join(' ')
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

/** Starts everything that the tests of a file share. */
export async function startHarness(log: Logger = silentLog) {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-institution-'))
  writeIdentities(secrets, ['institution', 'gateway', 'simulator', 'connector-acme'])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const database = await createTestDatabase('institution', migrationFolders('institution'))
  const testClock = createTestClock()
  const db = database.open({ testClock })
  const now = () => new Date(Date.now() + testClock.offsetMs)
  const projectId = randomUUID()
  const accounts = newAccounts(now)
  const quotes = newQuotes(now)
  const backend = newBackend()
  const peers: Peers = { ...accounts.peers, ...quotes.peers, ...backend.peers }
  const closers: (() => Promise<unknown>)[] = []
  const registry = new Registry()

  /** A process of the service: engine, server, clients. */
  async function startProcess() {
    const engine = startInstitution({
      db,
      log,
      metrics: registry,
      settings,
      peers,
      notifyOutbox: () => {},
    })
    const server = await serveRpc({
      host,
      port: 0,
      identity: identityOf('institution'),
      log: silentLog,
      routes: (router) => {
        router.service(InstitutionService, institutionService(engine.institution))
        router.service(TransferReportService, transferReportService(engine.institution))
      },
    })
    const url = `http://${host}:${server.port}`
    const pool = createRpcPool(url)
    const client = (name: string) => ({
      url,
      audience: 'institution',
      identity: identityOf(name),
      pool,
    })
    const one = {
      institution: createRpcClient(InstitutionService, client('gateway')),
      reports: createRpcClient(TransferReportService, client('simulator')),
      otherReports: createRpcClient(TransferReportService, client('connector-acme')),
      close: once(async () => {
        await engine.close()
        await server.close()
        await pool.close()
      }),
    }
    return one
  }

  const process = await startProcess()
  closers.push(process.close)
  const { institution, reports, otherReports } = process
  const outbox = sql('test_outbox', 'select payload from outbox order by occurred_at, event_id')
  const rows = sql('test_rows', 'select count(*)::integer as n from transaction')

  const order = (token: string, debit: Person, credit: Person, more: Order = {}): Order => ({
    projectId,
    institutionName,
    token: { case: 'sessionTokenSealed', value: `sealed:${randomUUID()}:${token}` },
    transactionId: randomUUID(),
    type: TransactionType.P2P,
    amount: '100.00',
    debitParty: { mobileNumber: debit.mobileNumber },
    creditParty: { mobileNumber: credit.mobileNumber },
    ...more,
  })
  const get = async (transactionId: string): Promise<Transaction> => {
    const { transaction } = await institution.getTransaction({
      projectId,
      institutionName,
      transactionId,
    })
    if (transaction === undefined) throw new Error('the answer is empty')
    return transaction
  }
  const harness = {
    db,
    registry,
    testClock,
    projectId,
    accounts,
    quotes,
    backend,
    institution,
    reports,
    /** Reports of a connector that is not the back end. */
    otherReports,
    order,
    get,
    peers,
    closeProcess: process.close,
    async create(asked: Order): Promise<Transaction> {
      const { transaction } = await institution.createTransaction(asked)
      if (transaction === undefined) throw new Error('the answer is empty')
      return transaction
    },
    statusOf: async (transactionId: string) => TransactionStatus[(await get(transactionId)).status],
    becomes: (transactionId: string, status: TransactionStatus) =>
      eventually(async () => expect((await get(transactionId)).status).toBe(status)),
    /** The back end has a transfer that ends, and says so. */
    async end(movementId: string, outcome: TransferOutcome): Promise<void> {
      const transfer = await eventually(() => backend.transfers.get(movementId) ?? false)
      transfer.state = stateOf(outcome)
      await reports.reportTransfer({ transferId: movementId, outcome, reason: 'stand-in' })
    },
    /** Published transitions of a transaction. */
    async events(transactionId: string): Promise<string[]> {
      const published = await db.rows<{ payload: Buffer }>(outbox, [])
      return published
        .map(({ payload }) => fromBinary(TransactionEventSchema, payload))
        .filter(({ transaction }) => transaction?.transactionId === transactionId)
        .map(({ transition }) => TransactionTransition[transition] ?? '')
    },
    rowCount: async () => (await db.row<{ n: number }>(rows, []))?.n ?? 0,
    async stop() {
      await Promise.all(closers.map((close) => close()))
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
  return harness
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

function stateOf(outcome: TransferOutcome): TransferState {
  if (outcome === TransferOutcome.COMPLETED) return TransferState.COMPLETED
  return outcome === TransferOutcome.FAILED ? TransferState.FAILED : TransferState.CANCELLED
}
