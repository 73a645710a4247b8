// Keeps docs/operate/settings.md equal to the one table of settings (`npx vitest run test/tidy -u` writes it), and the table to what is read.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { renderSettingsTable } from '#platform/config/config.ts'
import { serving } from '#platform/config/setting.ts'
import { settings } from '#platform/config/settings.ts'

const root = join(import.meta.dirname, '..', '..')

const intro = `# Settings

Settings are environment variables. Every process validates its settings before it listens, and lists all invalid ones
together. It prints the values in use at the start of its log, without secrets. An empty variable counts as unset.
This page is generated from the table in \`platform/config/settings.ts\`.

`

it('the page of settings is the table that the processes read', async () => {
  const page = `${intro}${renderSettingsTable().trimEnd()}\n`
  await expect(page).toMatchFileSnapshot('../../docs/operate/settings.md')
})

/** Where the code of a process is that is not in `services/` under its name. */
const homes: Readonly<Record<string, string>> = {
  gateway: 'gateway',
  console: 'console',
  simulator: 'connectors/{simulator,kit}',
}

const camel = (name: string) =>
  name.toLowerCase().replace(/_([a-z0-9])/g, (_, one: string) => one.toUpperCase())

it('every server reads each of its settings', () => {
  const textOf = (pattern: string) =>
    globSync(pattern, { cwd: root })
      .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('platform/config/'))
      .map((path) => readFileSync(join(root, path), 'utf8'))
      .join('\n')
  const shared = textOf('platform/**/*.ts')
  // Defaults of the others follow from these.
  const facts = new Set(['PAYWEAVE_ENV', 'PORT_BASE', 'PAYWEAVE_DATA_DIR'])
  const unread = serving.flatMap((server) => {
    const text = shared + textOf(`${homes[server] ?? `services/${server}`}/**/*.ts`)
    return Object.entries(settings)
      .filter(([name, row]) => row.for.some((one) => one === server) && !facts.has(name))
      .map(([name]) => name)
      .filter((name) => !new RegExp(`\\b(${name}|${camel(name)})\\b`).test(text))
      .map((name) => `${server} does not read ${name}`)
  })
  expect(unread).toEqual([])
})
