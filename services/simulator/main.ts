// Starts the simulator, in sandboxes only: backend.v1, pages and receivers on one port; it must not hold a rule.
import { ChargeReportService } from '#gen/payments/v1/charge_report_pb.js'
import { serveAdmin } from '#runtime/admin.ts'
import { readSettings, SettingsError } from '#runtime/config.ts'
import { openDatabase } from '#runtime/db.ts'
import { runProcess } from '#runtime/lifecycle.ts'
import { createMetrics, databaseMetrics, rpcMetrics } from '#runtime/metrics.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import { openIdentity } from '#runtime/rpc/identity.ts'
import { reportMetrics } from './metrics.ts'
import { sendReportsTo } from './service.ts'
import { startSimulator } from './simulator.ts'

runProcess('simulator', async (stopping, log) => {
  if (process.env['PAYWEAVE_ENV'] === 'production') {
    throw new SettingsError('simulator', ['PAYWEAVE_ENV must not be production: no money is real'])
  }
  const settings = readSettings('simulator')
  const { host, port, adminPort, paymentsUrl: url, simulatorPublicUrl: publicUrl } = settings
  if (publicUrl === undefined) {
    throw new SettingsError('simulator', ['SIMULATOR_PUBLIC_URL must be set'])
  }
  const metrics = createMetrics('simulator')
  const identity = openIdentity({ name: 'simulator', dir: settings.secretsDir, log })
  const db = openDatabase({ url: settings.databaseUrl, service: 'simulator', log })
  databaseMetrics(metrics, db)
  reportMetrics(metrics, db)
  const pool = createRpcPool(url)
  const payments = createRpcClient(ChargeReportService, {
    url,
    audience: 'payments',
    identity,
    pool,
  })
  const simulator = await startSimulator({
    db,
    log,
    identity,
    host,
    port,
    publicUrl,
    checkoutUrl: settings.publicBaseUrl,
    send: sendReportsTo(payments),
    metrics: rpcMetrics(metrics),
    ready: db.ready,
  })
  const ready = async () => ({ database: await db.ready() })
  const admin = await serveAdmin({ host, port: adminPort, metrics, ready, log, stopping })
  return [
    { name: 'simulator', close: () => simulator.close() },
    { name: 'payments', close: () => pool.close() },
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
})
