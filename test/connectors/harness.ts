// A connector as a process with a database of its own, and what the conformance kit needs to check it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { connectorMigrations } from '../../connectors/kit/connector.ts'
import type { BackendCheck } from '../../tools/conformance/backend/check.ts'
import { backendChecks } from '../../tools/conformance/backend/checks.ts'
import { readOutcomeMap } from '../../tools/conformance/backend/outcome-map.ts'
import { type BackendTarget, runBackendChecks } from '../../tools/conformance/backend/run.ts'
import type { Result } from '../../tools/conformance/run.ts'
import { createTestDatabase } from '../support/database.ts'
import { freePorts } from '../support/servers.ts'

const connectors = join(import.meta.dirname, '../../connectors')
/** Origin of the pages that show card forms. */
const pagesOrigin = 'https://pay.example'
const processes = ['payments', 'accounts', 'institution', 'quotes', 'billing']

/** Groups of checks, each of which is a test: a busy machine takes long for all of them. */
export const checkGroups = [...new Set(backendChecks.map(({ name }) => name.split('/')[0] ?? ''))]

export type ConnectorProcess = {
  /** Where the provider sends webhooks or callbacks. */
  webhookOrigin: string
  adminUrl: string
  start(): Promise<void>
  /** Ends the process and returns its exit code; nothing when it does not run. */
  end(signal: NodeJS.Signals): Promise<unknown>
  /** Runs checks of a back end against it. */
  run(checks: readonly BackendCheck[]): Promise<Result[]>
  /** Runs the checks of a group of the conformance kit, but for the one of this name. */
  runGroup(group: string, except?: string): Promise<Result[]>
  /** Kills the process and removes all that it had. */
  remove(): Promise<void>
}

/** What the process is given: files of its folder of secrets, variables, and the folder of its tables, if it has any. */
export type ConnectorSetup = {
  /** The folder below connectors/. */
  name: string
  /** The name under which Payweave knows it. */
  identity: string
  secrets: Record<string, string>
  variables: (webhookOrigin: string) => Record<string, string>
  migrations?: string
  /** What fills in its card forms, if a script makes them. */
  formsUrl?: string
}

/** Prepares the connector; `start` starts it. */
export async function prepareConnector(setup: ConnectorSetup): Promise<ConnectorProcess> {
  const { name, identity, secrets: files, variables, migrations, formsUrl } = setup
  const secrets = mkdtempSync(join(tmpdir(), `payweave-${name}-`))
  writeIdentities(secrets, [...processes, identity])
  const own = join(secrets, identity)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(own, file), `${text}\n`)
  const folder = join(connectors, name)
  const tables = migrations === undefined ? undefined : join(folder, migrations)
  const database = await createTestDatabase('connector', connectorMigrations(tables))
  const [port = 0, webhookPort = 0, adminPort = 0, ...reports] = await freePorts(6)
  const [payments = 0, accounts = 0, institution = 0] = reports
  const urlOf = (at: number) => `http://127.0.0.1:${at}`
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    LOG_LEVEL: 'fatal',
    HOST: '127.0.0.1',
    PORT: String(port),
    CONNECTOR_PUBLIC_PORT: String(webhookPort),
    ADMIN_PORT: String(adminPort),
    DATABASE_URL: database.url,
    PAYMENTS_URL: urlOf(payments),
    ACCOUNTS_URL: urlOf(accounts),
    INSTITUTION_URL: urlOf(institution),
    SECRETS_DIR: own,
    CONNECTOR_PUBLIC_URL: urlOf(webhookPort),
    PUBLIC_BASE_URL: pagesOrigin,
    BACKEND_NAME: identity,
    ...variables(urlOf(webhookPort)),
  }
  const target: BackendTarget = {
    url: urlOf(port),
    audience: identity,
    secrets,
    // A simulated provider contradicts itself at once, if it does.
    map: { ...readOutcomeMap(join(folder, 'conformance.json')), settle_ms: 150 },
    host: '127.0.0.1',
    ports: { payments, accounts, institution },
    pagesOrigin,
    executionsUrl: undefined,
    formsUrl,
  }
  let child: ChildProcess | undefined
  const run = (checks: readonly BackendCheck[]) =>
    runBackendChecks(target, checks, { atOnce: 4, signal: new AbortController().signal })
  const end = async (signal: NodeJS.Signals) => {
    if (child === undefined) return undefined
    const ended = once(child, 'exit')
    child.kill(signal)
    const [code] = await ended
    child = undefined
    return code
  }
  return {
    webhookOrigin: urlOf(webhookPort),
    adminUrl: urlOf(adminPort),
    async start() {
      child = spawn(process.execPath, [join(folder, 'main.ts')], {
        env,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      const ended = once(child, 'exit').then(([code]) => {
        throw new Error(`the connector ended with ${code} at its start`)
      })
      await Promise.race([once(child, 'message'), ended])
      ended.catch(() => undefined)
    },
    end,
    run,
    runGroup: (group, except) =>
      run(backendChecks.filter((one) => one.name.startsWith(`${group}/`) && one.name !== except)),
    async remove() {
      await end('SIGKILL')
      await database.drop()
      rmSync(secrets, { recursive: true })
    },
  }
}
