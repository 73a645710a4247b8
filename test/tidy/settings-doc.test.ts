// Keeps docs/settings.md equal to the one table of settings; `npx vitest run test/tidy -u` writes it anew.
import { expect, it } from 'vitest'
import { renderSettingsTable } from '#platform/config/config.ts'

const intro = `# Settings

Settings are environment variables. Every process validates its settings before it listens, and lists all invalid ones
together. It prints the values in use at the start of its log, without secrets. An empty variable counts as unset.
This page is generated from the table in \`platform/config/settings.ts\`.

`

it('the page of settings is the table that the processes read', async () => {
  const page = `${intro}${renderSettingsTable().trimEnd()}\n`
  await expect(page).toMatchFileSnapshot('../../docs/settings.md')
})
