// Starts the gateway: settings, clients of the services, the subscription to revocations, the public port.

import { Health, HealthCheckResponse_ServingStatus } from '#gen/health/v1/health_pb.js'
import { readSettings, type SettingsOf } from '#platform/config/config.ts'
import { subscribeInvalidation } from '#platform/events/invalidation.ts'
import { natsFrom } from '#platform/events/nats/access.ts'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { streamAnswers } from '#platform/events/stream-health.ts'
import { serveAdmin } from '#platform/process/admin.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { openKeys } from '#platform/process/secrets.ts'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { openPeer } from '#platform/rpc/client/client.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { createAccess } from './access/auth.ts'
import { type ApiLog, type ApiLogOptions, startApiLog } from './api-log/api-log.ts'
import { openClients } from './clients.ts'
import { type Probe, readyParts } from './health.ts'
import { createGateway, type Gateway, routeRows } from './http/app.ts'
import { drainedPort } from './http/drain.ts'
import { gatewayMetrics } from './metrics.ts'
import { readViewerKeys } from './openapi/viewer-keys.ts'
import type { EdgeSettings } from './options.ts'
import { createBrands } from './pages/brand/brands.ts'
import { paymentChanges } from './payment-changes.ts'

type GatewaySettings = SettingsOf<'gateway'>

const probeTimeoutMs = 2_000
const accessSubject = 'pw.accounts.access'
const documentsAfterMs = 3_000

runProcess('gateway', async (stopping, log) => {
  const settings = readSettings('gateway')
  if (settings.payweaveEnv !== 'local' && settings.trustedProxies.length === 0) {
    log.warn({ setting: 'TRUSTED_PROXIES' }, 'no trusted proxies, client addresses unknown')
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
  const {
    checkout,
    closers,
    access: asked,
    apiLog: delivery,
    ...services
  } = openClients(settings, identity)
  const nats = connectNats({ ...natsFrom(settings), name: 'gateway', log })
  const access = createAccess({
    accounts: asked,
    environment: settings.payweaveEnv,
    onLookup: metrics.looked,
    isSubscribed: () => nats.ready(),
  })
  const brands = createBrands(asked, log)
  const invalidation = dropOnChange(nats, log, [access, brands])
  const ready = readyParts({
    gateway: () => !stopping.aborted,
    // JetStream and not the connection: a server may accept connections and yet publish no event.
    nats: () => streamAnswers(nats),
    ...serviceProbes(settings, identity),
  })
  const apiLog = openApiLog(settings, { delivery, rows: routeRows, log, metrics: registry })
  const gateway = await createGateway({
    settings: edgeSettings(settings),
    services: { ...services, access, cursorKeys: keys['page.key'] },
    log,
    metrics,
    ready,
    apiLog,
    pages: {
      checkout,
      receipts: services.billing,
      pageKeys: keys['page.key'],
      changes: paymentChanges(nats, log),
      brands,
    },
  })
  const admin = await serveAdmin({
    host: settings.host,
    port: settings.adminPort,
    metrics: registry,
    ready: aliveIsReady,
    log,
    stopping,
  })
  await gateway.app.listen({ host: settings.host, port: settings.port })
  // Not at once: the other processes of a machine are still starting.
  setTimeout(() => void makeDocuments(gateway, log), documentsAfterMs).unref()
  return [
    drainedPort(gateway, stopping, settings.drainS * 1_000),
    ...(apiLog === undefined ? [] : [{ name: 'API log', close: () => apiLog.close() }]),
    { name: 'invalidation', close: () => invalidation.close() },
    { name: 'nats', close: () => nats.close() },
    closers,
    { name: 'admin', close: () => admin.close() },
  ]
})

/** The API log, unless it is turned off. */
function openApiLog({ apiLog }: GatewaySettings, options: ApiLogOptions): ApiLog | undefined {
  return apiLog ? startApiLog(options) : undefined
}

/** Drops what is cached of a project when its access or its merchants change, so that others notice nothing. */
function dropOnChange(nats: Nats, log: Logger, caches: Array<{ drop(projectId: string): void }>) {
  const drop = (projectId: string) => {
    for (const cache of caches) cache.drop(projectId)
  }
  return subscribeInvalidation({
    nats,
    subject: accessSubject,
    log,
    onEvent: ({ projectId }) => drop(projectId),
    onGap: () => drop(''),
  })
}

/** Makes the API documents in advance. The next request retries what fails here. */
async function makeDocuments(gateway: Gateway, log: Logger): Promise<void> {
  try {
    await gateway.makeDocuments()
    log.info('API documents built')
  } catch (error) {
    log.warn({ err: error }, 'API documents not built')
  }
}

// The public /readyz speaks for the whole mesh; this one only for the process, which keeps working without the others.
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
    billerTimeoutMs: settings.billerTimeoutS * 1_000,
    viewerKeys: readViewerKeys(settings.docsSandboxFile, settings.payweaveEnv),
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
    const health = openPeer(audience, url, identity).of(Health, probeTimeoutMs)
    probes[audience] = async () => {
      const { status } = await health.check({})
      return status === HealthCheckResponse_ServingStatus.SERVING
    }
  }
  return probes
}
