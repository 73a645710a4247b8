// The commands on the database's schemas, which a job of the deployment runs.
import path from 'node:path'
import type { Difference, Phase } from '#platform/db/migration-files.ts'
import { migrationFolders, type SchemaOwner, schemaOwners } from '#platform/db/schemas.ts'
import { durationMs } from './clock.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'

const waitOption = { wait: 'time to wait for a database that does not answer, such as 12m (0s)' }

/** The commands of `migrate`. The database is that of DATABASE_URL, entered as its owner. */
export const migrationCommands: Command[] = [
  {
    name: 'migrate expand',
    operands: '',
    summary: 'Runs the expand migrations, which the running version tolerates; before an upgrade.',
    options: waitOption,
    run: (context) => run(context, 'expand'),
  },
  {
    name: 'migrate contract',
    operands: '',
    summary:
      'Removes what only an older version needed; after an upgrade that you will not roll back.',
    options: waitOption,
    run: (context) => run(context, 'contract'),
  },
  {
    name: 'migrate status',
    operands: '',
    summary: 'Lists pending migrations; exits with 1 if one of expand is pending.',
    options: {},
    run: status,
  },
]

/** Imports the modules of these commands on demand, so that all other commands start without them. */
async function load({ env }: CommandContext) {
  const [{ readSettings, SettingsError }, { createLogger }, migrations] = await Promise.all([
    import('#platform/config/config.ts'),
    import('#platform/telemetry/log.ts'),
    import('#platform/db/migrate.ts'),
  ])
  try {
    const settings = readSettings('migrate', env)
    const isProduction = settings.payweaveEnv === 'production'
    const services = schemaOwners.filter((one) => !(isProduction && one === 'simulator'))
    return {
      ...migrations,
      settings,
      services,
      log: createLogger({ part: 'migrate', level: 'silent' }),
    }
  } catch (error) {
    throw error instanceof SettingsError ? new UsageError(error.message) : error
  }
}

async function run(context: CommandContext, phase: Phase): Promise<void> {
  const { migrate, compareSchema, waitForDatabase, services, log, settings } = await load(context)
  const waitMs = Number(durationMs(context.options['wait'] ?? '0s'))
  const logins = phase === 'expand' ? settings.databaseLoginsDir : undefined
  const { databaseUrl: adminUrl, databasePasswordFile: passwordFile } = settings
  await waitForDatabase({ adminUrl, passwordFile }, waitMs)
  const progress = context.progress('migrations')
  let [applied, total] = [0, 0]
  if (progress.isShown) {
    for (const service of services) {
      const directories = migrationFolders(service)
      const { missing } = await compareSchema({ adminUrl, passwordFile, service, directories })
      total += missing.filter((one) => one.phase === phase).length
    }
  }
  const onApplied = () => {
    applied += 1
    progress.update(applied, applied / total)
  }
  // One after the other, so that the output ends with the first schema that fails.
  for (const service of services) {
    const names = await migrate({
      adminUrl,
      passwordFile,
      loginFile: logins === undefined ? undefined : path.join(logins, service),
      service,
      directories: migrationFolders(service),
      log,
      phase,
      onApplied,
    }).finally(() => progress.stop())
    print(context, service, names.length === 0 ? ['nothing to do'] : names, { applied: names })
  }
}

async function status(context: CommandContext): Promise<void> {
  const { compareSchema, services, settings } = await load(context)
  let isBehind = false
  for (const service of services) {
    const found = await compareSchema({
      adminUrl: settings.databaseUrl,
      passwordFile: settings.databasePasswordFile,
      service,
      directories: migrationFolders(service),
    })
    isBehind ||= found.changed.length > 0 || found.missing.some((one) => one.phase === 'expand')
    const missing = found.missing.map(({ name, phase }) => ({ name, phase }))
    print(context, service, sentences(found), { ...found, missing })
  }
  if (isBehind) throw new Error('the schema is older than this version')
}

function sentences({ missing, changed, unknown }: Difference): string[] {
  const lines = [
    ...missing.map(({ name, phase }) => `${name}  missing, ${phase}`),
    ...changed.map((name) => `${name}  changed since it ran`),
    ...unknown.map((name) => `${name}  of another version`),
  ]
  return lines.length === 0 ? ['up to date'] : lines
}

function print(
  { json, print }: CommandContext,
  service: SchemaOwner,
  lines: string[],
  facts: object,
): void {
  if (json) print(JSON.stringify({ service, ...facts }))
  else for (const line of lines) print(`${service}  ${line}`)
}
