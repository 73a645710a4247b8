// Packs the command line, installs it into an empty folder and uses it on the running system, as docs/operate/cli.md does.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { portableCommands } from '../../../clients/cli/portable-commands.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { merchant, order, sharedMesh } from '../harness.ts'

const root = join(import.meta.dirname, '../../..')
const folder = temporaryFolder('cli-package')
const mesh = sharedMesh()
const { base_url, projects } = mesh.sandbox

beforeAll(() => {
  // An npm that runs these tests passes the settings of this tree on, by which no script of a package runs.
  const pack = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder]
  const cwd = join(root, 'clients', 'cli-package')
  const packed = execFileSync('npm', pack, { cwd, encoding: 'utf8' })
  const [{ filename = '' } = {}] = JSON.parse(packed.slice(packed.indexOf('['))) as Array<{
    filename?: string
  }>
  writeFileSync(join(folder, 'package.json'), '{ "name": "shop", "private": true }')
  execFileSync('npm', ['install', '--offline', '--no-audit', filename], { cwd: folder })
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true }))

function payweave(...words: string[]) {
  const env = {
    ...process.env,
    PAYWEAVE_BASE_URL: base_url,
    PAYWEAVE_SUBSCRIPTION_KEY: projects.demo.subscription_key,
    PAYWEAVE_API_KEY: projects.demo.api_key,
  }
  const program = join(folder, 'node_modules', '.bin', 'payweave')
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, env })
  return { code: status, out: String(stdout), err: String(stderr) }
}

it('the package of the command line needs no other package and has its version', () => {
  const manifest = JSON.parse(
    readFileSync(join(folder, 'node_modules/@payweave/cli/package.json'), 'utf8'),
  ) as { version: string; dependencies?: object }
  expect(manifest.dependencies).toBe(undefined)
  expect(payweave('--version')).toEqual({ code: 0, out: `${manifest.version}\n`, err: '' })
  expect(payweave('migrate', 'status')).toMatchObject({ code: 2, out: '' })
})

it('the package of the command line lists payments with keys alone, and projects with a bearer', async () => {
  const transaction = order()
  const { id } = await merchant(mesh).create(transaction)
  const list = payweave('payments', 'list', '--transaction-id', transaction.id)
  expect(list).toMatchObject({ code: 0, out: expect.stringContaining(id), err: '' })
  const known = payweave('project', 'list', '--data-dir', mesh.dataDir)
  expect(known).toMatchObject({ code: 0, out: expect.stringContaining(' demo\n'), err: '' })
  expect(payweave('conformance', '--list')).toMatchObject({ code: 0, err: '' })
})

it('the package of the command line lists merchants, shows business time and the state of a system', () => {
  const local = (...words: string[]) => payweave(...words, '--data-dir', mesh.dataDir)
  const merchants = local('merchant', 'list', '--project', 'demo')
  expect(merchants).toMatchObject({ code: 0, out: expect.stringMatching(/^MERCHANT /), err: '' })
  const clock = local('sandbox', 'clock', 'show')
  expect(clock).toMatchObject({ code: 0, out: expect.stringMatching(/^business time /), err: '' })
  expect(payweave('status', '--base-url', base_url).out).toMatch(/^(not )?ready /)
  expect(payweave('sandbox', 'reset')).toMatchObject({ code: 2, out: '' })
  expect(payweave('merchant', 'preview').code).toBe(2)
})

it('the package of the command line has every command but those of a machine, and each has its help', () => {
  const { out } = payweave('--help')
  const packed = new Set(portableCommands.map(({ name }) => name.split(' ')[0]))
  expect([...packed].filter((group) => !out.includes(`\n  ${group}`))).toEqual([])
  const help = payweave('replay', 'list', '--help')
  expect(help).toMatchObject({ code: 0, out: expect.stringContaining('Example:') })
})
