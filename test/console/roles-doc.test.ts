// Keeps the table of roles in docs/operate/console-roles.md equal to the one that the services enforce; -u writes it anew.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { permissions, roleNames } from '#platform/rpc/auth/roles.ts'

const file = join(import.meta.dirname, '../../docs/operate/console-roles.md')
const place = /(?<=<!-- roles: [^\n]*-->\n)[^]*?(?=\n<!-- end of roles -->)/

function table(): string {
  const rows = Object.entries(permissions).map(([rpc, roles]: [string, readonly string[]]) => {
    const cells = roleNames.map((role) => (roles.includes(role) ? '✓' : ''))
    return `| \`${rpc}\` | ${cells.join(' | ')} |`
  })
  const head = `| RPC | ${roleNames.map((role) => `\`${role}\``).join(' | ')} |`
  return [head, `|---|${roleNames.map(() => '---|').join('')}`, ...rows].join('\n')
}

it('the page of the console shows the roles as the services enforce them', async () => {
  const page = readFileSync(file, 'utf8').replace(place, table())
  await expect(page).toMatchFileSnapshot(file)
})
