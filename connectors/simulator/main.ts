// Starts the simulator, in sandboxes only: settings, database, clients of the services, the ports. No business logic here.
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { readSettings, SettingsError } from '#platform/config/config.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { serveAdmin } from '#platform/process/admin.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { rpcMetrics } from '#platform/rpc/server/served-call.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { reportMetrics } from './metrics.ts'
import { peersOf } from './ports/peers.ts'
import { startSimulator } from './simulator.ts'

runProcess('simulator', async (stopping, log) => {
  if (process.env['PAYWEAVE_ENV'] === 'production') {
    throw new SettingsError('simulator', ['PAYWEAVE_ENV must not be production: no money is real'])
  }
  const settings = readSettings('simulator')
  const { host, port, adminPort, connectorPublicUrl: publicUrl } = settings
  if (publicUrl === undefined) {
    throw new SettingsError('simulator', ['CONNECTOR_PUBLIC_URL must be set'])
  }
  const metrics = createMetrics('simulator')
  const identity = processIdentity(settings.backendName, settings, log)
  const db = await openServiceDatabase({ service: 'simulator', settings, metrics, log, stopping })
  reportMetrics(metrics, db)
  const payments = reach('payments', settings.paymentsUrl, identity)
  // Artefacts are longer than any other answer.
  const accounts = reach('accounts', settings.accountsUrl, identity, { lasting: true })
  const institution = reach('institution', settings.institutionUrl, identity)
  const peers = peersOf({
    payments: createRpcClient(ChargeReportService, payments),
    accounts: createRpcClient(ReviewReportService, accounts),
    institution: createRpcClient(TransferReportService, institution),
  })
  const simulator = await startSimulator({
    db,
    log,
    identity,
    environment: settings.payweaveEnv,
    host,
    port,
    publicPort: settings.connectorPublicPort,
    publicUrl,
    checkoutUrl: settings.publicBaseUrl,
    peers,
    metrics: rpcMetrics(metrics),
    ready: db.ready,
    callStreams: settings.rpcCallStreams,
  })
  const ready = async () => ({ database: await db.ready() })
  const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
  return [
    { name: 'simulator', close: () => simulator.close() },
    { name: 'payments', close: () => payments.pool.close() },
    { name: 'accounts', close: () => accounts.pool.close() },
    { name: 'institution', close: () => institution.pool.close() },
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
})

function reach(audience: string, url: string, identity: Identity, pool?: { lasting: boolean }) {
  return { audience, url, identity, pool: createRpcPool(url, { audience, identity, ...pool }) }
}
