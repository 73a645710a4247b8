// Runs a connector as a process: settings, secrets, identity, migrations, database. No business logic here.
import { readSettings } from '#platform/config/config.ts'
import { type Database, openDatabase } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { type Connector, connectorMigrations, startConnector } from './connector.ts'
import { type ConnectorEnvironment, connectorEnvironment } from './environment.ts'
import { openSettlements } from './ports/settlements.ts'
import { reconcileCommand } from './reconcile-command.ts'
import { workCommand } from './work-command.ts'

/** Schema and role of a connector, which has a database of its own or shares one with Payweave. */
const schema = 'connector'
const closeWithinMs = 20_000

/**
 * Runs the command `work` or `reconcile` when the process was started with it. Otherwise runs the connector until it is stopped, under the name in
 * BACKEND_NAME. It reads the settings that docs/operate/settings.md lists for `simulator`, whose place it takes; webhooks come to
 * CONNECTOR_PUBLIC_PORT. `migrations` is the folder of the connector's own tables, if it has any.
 */
export function runConnector(
  make: (environment: ConnectorEnvironment) => Connector,
  migrations?: string,
): void {
  const [command, ...words] = process.argv.slice(2)
  if (command === 'work') return void runCommand((db, print) => workCommand(db, words, print))
  if (command === 'reconcile')
    return void runCommand((db, print) => runReconcile({ make, words, db, print }))
  runProcess('connector', async (_stopping, log) => {
    const settings = readSettings('simulator')
    const { host, databaseUrl, databasePasswordFile: passwordFile } = settings
    const connector = make(connectorEnvironment(settings, process.env))
    const identity = processIdentity(settings.backendName, settings, log)
    const directories = connectorMigrations(migrations)
    if (settings.migrateAtStart)
      await migrate({ adminUrl: databaseUrl, passwordFile, service: schema, directories, log })
    const db = openDatabase({ url: databaseUrl, passwordFile, service: schema, log })
    const running = await startConnector(connector, {
      db,
      log,
      identity,
      host,
      ports: {
        rpc: settings.port,
        webhooks: settings.connectorPublicPort,
        admin: settings.adminPort,
      },
      receiverUrls: {
        payments: settings.paymentsUrl,
        accounts: settings.accountsUrl,
        institution: settings.institutionUrl,
      },
    }).catch(async (error: unknown) => {
      await db.close()
      throw error
    })
    return [
      { name: 'connector', close: () => running.close(), closeWithinMs },
      { name: 'database', close: () => db.close() },
    ]
  })
}

type Print = (text: string) => void

/** Runs a command on the database of the connector; its exit code becomes that of the process. */
async function runCommand(run: (db: Database, print: Print) => Promise<number>): Promise<void> {
  const log = createLogger({ part: 'connector', level: 'error' })
  const { databaseUrl: url, databasePasswordFile: passwordFile } = readSettings('simulator')
  const db = openDatabase({ url, passwordFile, service: schema, log, readsWholeTables: true })
  try {
    process.exitCode = await run(db, (text) => process.stdout.write(text))
  } finally {
    await db.close()
  }
}

async function runReconcile({
  make,
  words,
  db,
  print,
}: {
  make: (environment: ConnectorEnvironment) => Connector
  words: readonly string[]
  db: Database
  print: Print
}): Promise<number> {
  const settings = readSettings('simulator')
  const environment = connectorEnvironment(settings, process.env)
  const { report } = make(environment)
  const { tls } = processIdentity(
    settings.backendName,
    settings,
    createLogger({ part: 'connector', level: 'error' }),
  )
  const settlements = openSettlements({
    url: settings.paymentsUrl,
    token: environment.variable('PAYWEAVE_TOKEN'),
    tls,
    connector: settings.backendName,
  })
  try {
    return await reconcileCommand({ db, report, settlements, print }, words)
  } finally {
    await settlements.close()
  }
}
