// A simulator on a database of its own, with a stand-in for payments' reports, for the tests of this folder.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Failure, type Reason } from '#core/errors.ts'
import { ChargeChannel, ChargeService } from '#gen/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/backend/v1/payouts_pb.js'
import {
  ChargeOutcome,
  ChargeReportService,
  type ReportChargeRequest,
} from '#gen/payments/v1/charge_report_pb.js'
import { PayerState, PaymentMethod, PayoutState } from '#gen/payments/v1/payments_pb.js'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import { openIdentity } from '#runtime/rpc/identity.ts'
import { serveRpc } from '#runtime/rpc/server.ts'
import { writeIdentities } from '#runtime/rpc/trust.ts'
import { migrationFolders } from '#runtime/schemas.ts'
import { createTestClock } from '#runtime/test-clock.ts'
import { sendReportsTo } from '../../services/simulator/service.ts'
import { startSimulator } from '../../services/simulator/simulator.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { freePorts } from '../support/servers.ts'

export const checkoutUrl = 'http://pay.test:8080'
export const returnUrl = `${checkoutUrl}/pay/some-token`

const host = '127.0.0.1'

/** A report as payments got it. */
export type GotReport = { id: string; attemptId: string; outcome: string; method: string }

/** What a simulator stands on: a database, identities, ports, and a stand-in for payments. */
export async function startSurroundings() {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-simulator-'))
  writeIdentities(secrets, ['payments', 'simulator', 'gateway'])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const [port = 0, adminPort = 0, paymentsPort = 0] = await freePorts(3)
  const url = `http://${host}:${port}`
  const database = await createTestDatabase('simulator', migrationFolders('simulator'))
  const payments = paymentsStandIn(identityOf('payments'), paymentsPort)
  await payments.start()
  const pool = createRpcPool(url)
  const client = { url, audience: 'simulator', identity: identityOf('payments'), pool }
  return {
    url,
    port,
    adminPort,
    paymentsUrl: `http://${host}:${paymentsPort}`,
    secrets,
    identityOf,
    database,
    payments,
    charges: createRpcClient(ChargeService, client),
    payouts: createRpcClient(PayoutService, client),
    strangers: createRpcClient(ChargeService, { ...client, identity: identityOf('gateway') }),
    async remove() {
      await pool.close()
      await payments.stop()
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
}

/** A simulator in this process, with its surroundings and a clock that the test shifts. */
export async function startWorld() {
  const surroundings = await startSurroundings()
  const { url, port, paymentsUrl, identityOf, database } = surroundings
  const testClock = createTestClock()
  const pool = createRpcPool(paymentsUrl)
  const identity = identityOf('simulator')
  const reports = createRpcClient(ChargeReportService, {
    url: paymentsUrl,
    audience: 'payments',
    identity,
    pool,
  })
  const start = async () => {
    const db = database.open({ testClock })
    const server = await startSimulator({
      db,
      log: silentLog,
      identity,
      host,
      port,
      publicUrl: url,
      checkoutUrl,
      send: sendReportsTo(reports),
    })
    return { db, server }
  }
  let running = await start()
  return {
    ...surroundings,
    testClock,
    /** Stops the simulator and starts another one on the same database. */
    async restart() {
      await running.server.close()
      await running.db.close()
      running = await start()
    },
    async stop() {
      await running.server.close()
      await pool.close()
      await surroundings.remove()
    },
  }
}

export type World = Awaited<ReturnType<typeof startWorld>>

function paymentsStandIn(identity: ReturnType<typeof openIdentity>, port: number) {
  const got: GotReport[] = []
  const refusals = new Map<string, Reason[]>()
  let server: Awaited<ReturnType<typeof serveRpc>> | undefined
  const keepCharge = ({ chargeId, attemptId, outcome, paymentMethod }: ReportChargeRequest) => {
    const method = PaymentMethod[paymentMethod] ?? ''
    got.push({ id: chargeId, attemptId, outcome: ChargeOutcome[outcome] ?? '', method })
  }
  return {
    got,
    /** Answers the next reports about a charge with these refusals. */
    refuse: (id: string, ...reasons: Reason[]) => void refusals.set(id, reasons),
    /** Reports about one charge, payout or refund, in the order of arrival. */
    of: (id: string) => got.filter((report) => report.id === id),
    async start() {
      server = await serveRpc({
        host,
        port,
        identity,
        log: silentLog,
        services: [ChargeReportService],
        routes: (router) =>
          router.service(ChargeReportService, {
            reportCharge(report) {
              const reason = refusals.get(report.chargeId)?.shift()
              if (reason !== undefined) throw new Failure(reason, 'as the test wants it')
              keepCharge(report)
              return { payerState: PayerState.PENDING }
            },
            reportPayout({ payoutId }) {
              got.push({ id: payoutId, attemptId: '', outcome: 'COMPLETED', method: '' })
              return { payoutState: PayoutState.COMPLETED }
            },
            reportRefund({ refundId }) {
              got.push({ id: refundId, attemptId: '', outcome: 'COMPLETED', method: '' })
              return {}
            },
          }),
      })
    },
    async stop() {
      await server?.close()
      server = undefined
    },
  }
}

/** A charge to announce, of somebody who acts by hand unless a number is given. */
export function newCharge({
  number = '+12025550100',
  channel = ChargeChannel.PAYMENT_LINK,
  expiresInMs = 3_600_000,
  now = new Date(),
} = {}) {
  const digits = String(randomBytes(6).readUIntBE(0, 6)).padStart(12, '7').slice(-12)
  return {
    chargeId: randomUUID(),
    amount: { currency: 'USD', minorUnits: 1250n },
    mobileNumber: number,
    channel,
    businessName: 'Demo <Store>',
    cashCode: channel === ChargeChannel.AGENT ? digits : '',
    expireTime: timestampFromDate(new Date(now.getTime() + expiresInMs)),
  }
}

/** Submits a form as a browser does. */
export async function submit(url: string, fields: Record<string, string>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  return { status: response.status, headers: response.headers, html: await response.text() }
}

/** Opens a page as a browser does. */
export async function open(url: string) {
  const response = await fetch(url)
  return { status: response.status, headers: response.headers, html: await response.text() }
}
