// Starts the console: settings, sessions, clients of the services, the identity provider, its port.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomId } from '#core/identity/id.ts'
import { isLoopbackHost } from '#core/text/address.ts'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { readSettings, type SettingsOf } from '#platform/config/config.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { startRetention } from '#platform/events/retention.ts'
import { serveAdmin } from '#platform/process/admin.ts'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { signInKeyFile } from '../deploy/local/sign-in-key.ts'
import { type Clients, openClients } from './clients.ts'
import { createConsole } from './http/app.ts'
import { watchParts } from './parts/reader.ts'
import { openSandbox } from './sandbox.ts'
import { type LocalProviderOptions, localIssuerPath } from './sign-in/local-provider.ts'
import { openOidc } from './sign-in/oidc.ts'
import { callbackPath } from './sign-in/routes.ts'
import { type Activity, deleteOldActivity, insertActivity } from './store/activity-store.ts'
import { deleteOldSessions } from './store/session-store.ts'

runProcess('console', async (stopping, log) => {
  const settings = readSettings('console')
  const { consoleUrl, oidcIssuer, host, port, adminPort } = settings
  const sandbox = openSandbox(settings.consoleSandboxFile, settings.payweaveEnv)
  const registry = createMetrics('console')
  const identity = processIdentity('console', settings, log)
  const db = await openServiceDatabase({
    service: 'console',
    settings,
    metrics: registry,
    log,
    stopping,
  })
  const record = (activity: Activity) => insertActivity(db, activity)
  const clients = openClients(settings, identity, record)
  const redirectUrl = `${consoleUrl}${callbackPath}`
  const local = oidcIssuer === undefined ? localProvider(settings, clients, redirectUrl) : undefined
  const parts = watchParts(settings.metricsUrls, log)
  const app = await createConsole({
    environment: settings.payweaveEnv,
    consoleUrl,
    publicBaseUrl: settings.publicBaseUrl,
    limits: { idleS: settings.consoleIdleS, lifetimeS: settings.consoleSessionS },
    db,
    clients,
    parts,
    sandbox,
    record,
    oidc: openOidc({
      issuer: oidcIssuer ?? `${consoleUrl}${localIssuerPath}`,
      clientId: settings.oidcClientId,
      clientSecretFile: settings.oidcClientSecretFile,
      scope: settings.oidcScope,
      rolesClaim: settings.oidcRolesClaim,
      redirectUrl,
    }),
    local,
    log,
  })
  const ready = async () => ({ database: await db.ready() })
  const admin = await serveAdmin({ host, port: adminPort, metrics: registry, ready, log, stopping })
  await app.listen({ host, port })
  const retention = startRetention({
    db,
    log,
    deleteOld: async (tx, limit) => {
      const sessions = await deleteOldSessions(tx, settings.consoleSessionS, limit)
      return sessions + (await deleteOldActivity(tx, limit))
    },
  })
  return [
    { name: 'pages', close: () => app.close() },
    { name: 'retention', close: () => retention.close() },
    { name: 'parts', close: () => parts.close() },
    clients.closers,
    { name: 'database', close: () => db.close() },
    { name: 'admin', close: () => admin.close() },
  ]
})

/**
 * The built-in provider. Throws a ConfigurationError where people of other machines are to sign in. A local start in a
 * container listens on all of its addresses; signing in takes the key of its link.
 */
function localProvider(
  settings: SettingsOf<'console'>,
  clients: Clients,
  redirectUrl: string,
): LocalProviderOptions {
  const { payweaveEnv, consoleUrl, host, secretsDir, oidcClientId, oidcRolesClaim } = settings
  const hosts = [new URL(consoleUrl).hostname, ...(payweaveEnv === 'local' ? [] : [host])]
  if (payweaveEnv === 'production' || !hosts.every(isLoopbackHost)) {
    throw new ConfigurationError('OIDC_ISSUER must be set where people sign in from other machines')
  }
  return {
    consoleUrl,
    clientId: oidcClientId,
    redirectUrl,
    rolesClaim: oidcRolesClaim,
    key: readFileSync(join(secretsDir, signInKeyFile), 'utf8').trim(),
    projectIdOf: (name) => findProject(clients, name),
  }
}

/** The id of a project of the sandbox, in whose name nobody has signed in yet. */
async function findProject({ access }: Clients, name: string): Promise<string> {
  const person = { id: 'sign-in', memberships: [{ role: 'support' as const }] }
  const acting = { person, projectId: undefined, sessionId: randomId() }
  const context = { requestId: randomId(), traceparent: newTraceparent(), acting }
  const { projects } = await runWithContext(context, () =>
    access.listProjects({ name, environment: Environment.SANDBOX }),
  )
  const found = projects.find((project) => project.name === name)
  if (found === undefined) throw new ConfigurationError(`the sandbox has no project ${name}`)
  return found.projectId
}
