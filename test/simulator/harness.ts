// A simulator on a database of its own, with stand-ins for those it reports to, for the tests of this folder.
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { ChargeChannel, ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { Environment } from '#platform/config/setting.ts'
import { sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { peersOf } from '../../connectors/simulator/ports/peers.ts'
import { startSimulator } from '../../connectors/simulator/simulator.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts } from '../support/servers.ts'
import { accountsStandIn, institutionStandIn, paymentsStandIn } from './stand-ins.ts'

const checkoutUrl = 'http://pay.test:8080'
export const returnUrl = `${checkoutUrl}/pay/some-token`

const host = '127.0.0.1'

const callers = ['gateway', 'payments', 'accounts', 'institution', 'quotes', 'billing']

/** Dependencies of a simulator: a database, identities, ports, and stand-ins for other services. */
export async function startStandIns() {
  const secrets = mkdtempSync(join(tmpdir(), 'payweave-simulator-'))
  writeIdentities(secrets, [...callers, 'simulator'])
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const [port = 0, adminPort = 0, publicPort = 0, ...ports] = await freePorts(6)
  const [paymentsPort = 0, accountsPort = 0, institutionPort = 0] = ports
  const url = `http://${host}:${port}`
  const publicUrl = `http://${host}:${publicPort}`
  const urlOf = (standInPort: number) => `http://${host}:${standInPort}`
  const database = await createTestDatabase('simulator', migrationFolders('simulator'))
  const payments = paymentsStandIn(identityOf('payments'), paymentsPort)
  const accounts = accountsStandIn(identityOf('accounts'), accountsPort)
  const institution = institutionStandIn(identityOf('institution'), institutionPort)
  const standIns = [payments, accounts, institution]
  await Promise.all(standIns.map((standIn) => standIn.start()))
  const pool = createRpcPool(url)
  const clientOf = (caller: string) => ({
    url,
    audience: 'simulator',
    identity: identityOf(caller),
    pool,
  })
  return {
    url,
    port,
    /** Where the pages and receivers are. */
    publicUrl,
    publicPort,
    adminPort,
    paymentsUrl: urlOf(paymentsPort),
    accountsUrl: urlOf(accountsPort),
    institutionUrl: urlOf(institutionPort),
    secrets,
    identityOf,
    database,
    payments,
    accounts,
    institution,
    charges: createRpcClient(ChargeService, clientOf('payments')),
    payouts: createRpcClient(PayoutService, clientOf('payments')),
    reviews: createRpcClient(ReviewService, clientOf('accounts')),
    bills: createRpcClient(BillerService, clientOf('billing')),
    rates: createRpcClient(RateService, clientOf('quotes')),
    transfers: createRpcClient(TransferService, clientOf('institution')),
    strangers: createRpcClient(ChargeService, clientOf('gateway')),
    async remove() {
      await pool.close()
      await Promise.all(standIns.map((standIn) => standIn.stop()))
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
}

/** A simulator in this process, with its stand-ins and a clock that the test shifts. */
export async function startHarness({ environment = 'local' }: { environment?: Environment } = {}) {
  const standIns = await startStandIns()
  const {
    port,
    publicPort,
    publicUrl,
    paymentsUrl,
    accountsUrl,
    institutionUrl,
    identityOf,
    database,
  } = standIns
  const testClock = createTestClock()
  const identity = identityOf('simulator')
  const reach = (audience: string, url: string) => ({
    audience,
    url,
    identity,
    pool: createRpcPool(url, { lasting: true }),
  })
  const payments = reach('payments', paymentsUrl)
  const accounts = reach('accounts', accountsUrl)
  const institution = reach('institution', institutionUrl)
  const peers = peersOf({
    payments: createRpcClient(ChargeReportService, payments),
    accounts: createRpcClient(ReviewReportService, accounts),
    institution: createRpcClient(TransferReportService, institution),
  })
  const start = async () => {
    const db = database.open({ testClock })
    const server = await startSimulator({
      db,
      log: silentLog,
      identity,
      environment,
      host,
      port,
      publicPort,
      publicUrl,
      checkoutUrl,
      peers,
    })
    return { db, server }
  }
  let running = await start()
  return {
    ...standIns,
    testClock,
    /** Returns whether a bill payment was accepted, without an enquiry about it. */
    async knowsBill(billPaymentId: string): Promise<boolean> {
      return (await running.db.row(knownBill, [billPaymentId])) !== undefined
    },
    /** How often reports on something were sent or tried. */
    async reportAttempts(subjectId: string): Promise<number> {
      const row = await running.db.row<{ attempts: number }>(reportAttempts, [subjectId])
      return row?.attempts ?? 0
    },
    /** Stops the simulator and starts another one on the same database. */
    async restart() {
      await running.server.close()
      await running.db.close()
      running = await start()
      // Connections to the one that stopped may seem usable for a moment.
      await eventually(() => standIns.charges.getAttempt({ attemptId: randomUUID() }))
    },
    async stop() {
      await running.server.close()
      await Promise.all([payments, accounts, institution].map(({ pool }) => pool.close()))
      await standIns.remove()
    },
  }
}

const reportAttempts = sql(
  'test_report_attempts',
  'select sum(attempts)::integer as attempts from report where subject_id = $1',
)
const knownBill = sql('test_known_bill', 'select 1 from bill where bill_payment_id = $1')

export type Harness = Awaited<ReturnType<typeof startHarness>>

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
