// Starts the gateway: settings, clients of the services, news of revocations, the public port; it must not hold a rule.

import { Health, HealthCheckResponse_ServingStatus } from '#gen/health/v1/health_pb.js'
import { serveAdmin } from '#runtime/admin.ts'
import { readSettings, type SettingsOf } from '#runtime/config.ts'
import { connectNats } from '#runtime/events/nats.ts'
import { natsFrom } from '#runtime/events/nats-access.ts'
import { listenForNews } from '#runtime/events/news.ts'
import { runProcess } from '#runtime/lifecycle.ts'
import type { Logger } from '#runtime/log.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createRpcClient, createRpcPool } from '#runtime/rpc/client.ts'
import type { Identity } from '#runtime/rpc/identity.ts'
import { processIdentity } from '#runtime/rpc/process-identity.ts'
import { openKeys } from '#runtime/secrets.ts'
import { createGateway, type Gateway } from './app.ts'
import { createAccess } from './auth.ts'
import { openClients } from './clients.ts'
import { drainedPort } from './drain.ts'
import { gatewayMetrics } from './gateway-metrics.ts'
import { type Probe, readyParts } from './health.ts'
import type { EdgeSettings } from './options.ts'

type GatewaySettings = SettingsOf<'gateway'>

const probeTimeoutMs = 2_000
const accessNews = 'pw.accounts.access'
const documentsAfterMs = 3_000

runProcess('gateway', async (stopping, log) => {
  const settings = readSettings('gateway')
  if (settings.payweaveEnv !== 'local' && settings.trustedProxies.length === 0) {
    log.warn({ setting: 'TRUSTED_PROXIES' }, 'every client counts as the load balancer')
  }
  const registry = createMetrics('gateway')
  const metrics = gatewayMetrics(registry)
  const identity = processIdentity('gateway', settings, log)
  const keys = openKeys({
    dir: settings.secretsDir,
    names: ['page.key'],
    log,
    metrics: registry,
  })
  const { checkout, closers, access: asked, ...services } = openClients(settings, identity)
  const access = createAccess({
    accounts: asked,
    environment: settings.payweaveEnv,
    onLookup: metrics.looked,
  })
  const nats = connectNats({ ...natsFrom(settings), name: 'gateway', log })
  const drop = () => access.drop()
  const news = listenForNews({ nats, subject: accessNews, log, onEvent: drop, onGap: drop })
  const ready = readyParts({
    gateway: () => !stopping.aborted,
    nats: () => nats.ready(),
    ...serviceProbes(settings, identity),
  })
  const gateway = await createGateway({
    settings: edgeSettings(settings),
    services: { ...services, access },
    log,
    metrics,
    ready,
    pages: {
      checkout,
      receipts: services.billing,
      pageKeys: keys['page.key'],
    },
  })
  const { host, adminPort } = settings
  const admin = await serveAdmin({
    host,
    port: adminPort,
    metrics: registry,
    ready: aliveIsReady,
    log,
    stopping,
  })
  await gateway.app.listen({ host, port: settings.port })
  // Not at once: the other processes of a machine are still starting.
  setTimeout(() => void makeDocuments(gateway, log), documentsAfterMs).unref()
  return [
    drainedPort(gateway, stopping, settings.drainS * 1_000),
    { name: 'news', close: () => news.close() },
    { name: 'nats', close: () => nats.close() },
    ...closers,
    { name: 'admin', close: () => admin.close() },
  ]
})

/** Makes the API documents in advance. The next request retries what fails here. */
async function makeDocuments(gateway: Gateway, log: Logger): Promise<void> {
  try {
    await gateway.makeDocuments()
    log.info('documents made')
  } catch (error) {
    log.warn({ err: error }, 'documents not made')
  }
}

// The public /readyz speaks for the whole mesh; this one only for the process, which works on without the others.
const aliveIsReady = () => Promise.resolve({ gateway: true })

function edgeSettings(settings: GatewaySettings): EdgeSettings {
  return {
    environment: settings.payweaveEnv,
    publicBaseUrl: settings.publicBaseUrl,
    trustedProxies: settings.trustedProxies,
    rateLimitRps: settings.rateLimitRps,
    gatewayReplicas: settings.gatewayReplicas,
    sessionLookupsPerMin: settings.sessionLookupsPerMin,
    requestDateToleranceS: settings.requestDateToleranceS,
    allowLoopback: settings.deliveryAllowLoopback,
    versionNotices: settings.versionNotices,
  }
}

/** One question to the health service of each process behind us. */
function serviceProbes(settings: GatewaySettings, identity: Identity): Record<string, Probe> {
  const urls: Record<string, string | undefined> = {
    payments: settings.paymentsUrl,
    accounts: settings.accountsUrl,
    institution: settings.institutionUrl,
    quotes: settings.quotesUrl,
    billing: settings.billingUrl,
    delivery: settings.deliveryUrl,
    simulator: settings.simulatorUrl,
  }
  const probes: Record<string, Probe> = {}
  for (const [audience, url] of Object.entries(urls)) {
    if (url === undefined) continue
    const pool = createRpcPool(url, { audience, identity })
    const timeoutMs = probeTimeoutMs
    const health = createRpcClient(Health, { identity, audience, url, timeoutMs, pool })
    probes[audience] = async () => {
      const { status } = await health.check({})
      return status === HealthCheckResponse_ServingStatus.SERVING
    }
  }
  return probes
}
