// Builds the image in the mounts of this process alone, and runs it read-only, without capabilities, as its user.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { authorityOf } from './authority.ts'

const root = path.resolve(import.meta.dirname, '../..')
const { tools, base, work } = JSON.parse(process.argv[2] ?? '') as Record<
  'tools' | 'base' | 'work',
  string
>
const baseImage = 'localhost/node'
const image = 'localhost/payweave'

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function run(program: string, ...words: string[]): string {
  return execFileSync(program, words, { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

function mount(...words: string[]): void {
  run('mount', ...words)
}

/** buildah in its Debian system; a step of a build is a chroot, which needs no runtime for containers. */
function buildah(...words: string[]): string {
  return execFileSync('chroot', [tools, '/usr/bin/buildah', ...words], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env: { PATH: '/usr/bin:/usr/sbin', BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'vfs' },
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
}

const inside = (...names: string[]) => path.join(tools, ...names)

function mountAll(): void {
  // buildah changes how its root is mounted, so the root has to be a mount.
  mount('--bind', tools, tools)
  mount('-t', 'proc', 'proc', inside('proc'))
  mount('--rbind', '/sys', inside('sys'))
  mount('--rbind', '/dev', inside('dev'))
  mount('-t', 'tmpfs', 'tmpfs', inside('run'))
  for (const name of ['containers', 'tmp']) fs.mkdirSync(path.join(work, name))
  mount('--bind', path.join(work, 'containers'), inside('var/lib/containers'))
  mount('--bind', path.join(work, 'tmp'), inside('var/tmp'))
  mount('--bind', base, inside('base'))
  mount('--bind', path.dirname(process.execPath), inside('node'))
  mount('--bind', npmFolder(), inside('npm'))
  mount('--bind', root, inside('source'))
  fs.copyFileSync('/etc/resolv.conf', inside('etc/resolv.conf'))
}

/** The npm that runs this script. */
function npmFolder(): string {
  const cli = process.env['npm_execpath'] ?? fs.realpathSync(run('which', 'npm').trim())
  return path.resolve(cli, '../..')
}

/** Stands for the official image of Node.js: Debian, our release of Node.js and npm, at the same places. */
function buildBase(): void {
  const container = buildah('from', 'scratch')
  buildah('copy', '--quiet', container, '/base', '/')
  buildah('copy', '--quiet', container, '/node/node', '/usr/local/bin/node')
  buildah('copy', '--quiet', container, '/npm', '/usr/local/lib/node_modules/npm')
  const npm = '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n'
  fs.writeFileSync(path.join(work, 'tmp', 'npm'), npm)
  buildah('copy', '--quiet', '--chmod=755', container, '/var/tmp/npm', '/usr/local/bin/npm')
  buildah('commit', '--quiet', '--rm', container, baseImage)
}

/** Those of this process: it may not raise them. */
const limits = ['nofile', 'nproc'].map((name) => {
  const option = name === 'nofile' ? '-n' : '-u'
  const limit = run('bash', '-c', `ulimit -H ${option}`).trim()
  return `--ulimit=${name}=${limit === 'unlimited' ? 1_048_576 : limit}`
})

async function buildImage(): Promise<void> {
  const registry = run('npm', 'config', 'get', 'registry').trim()
  const authority = await authorityOf(registry)
  buildah(
    'build',
    '--quiet',
    ...limits,
    `--build-arg=NODE_IMAGE=${baseImage}`,
    `--build-arg=NPM_CONFIG_REGISTRY=${registry}`,
    `--build-arg=NPM_CONFIG_CA=${authority}`,
    '--file=/source/deploy/Dockerfile',
    `--tag=${image}`,
    '/source',
  )
}

type Inspected = {
  OCIv1: { config: { User: string; Entrypoint: string[]; Cmd: string[]; WorkingDir: string } }
}

/** Runs words in the image: its root cannot be written, the process has no capability and cannot gain any. */
function runImage(words: string[]): string {
  const { User, WorkingDir } = configuration()
  const container = buildah('from', image)
  const files = inside(buildah('mount', container))
  mount('--bind', files, files)
  mount('-o', 'remount,bind,ro', files)
  mount('-t', 'tmpfs', 'tmpfs', path.join(files, 'tmp'))
  mount('-t', 'proc', 'proc', path.join(files, 'proc'))
  const [uid = '', gid = ''] = User.split(':')
  const enter = `cd ${WorkingDir} && exec setpriv --reuid ${uid} --regid ${gid} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"`
  return execFileSync('chroot', [files, '/bin/sh', '-c', enter, 'sh', ...words], {
    encoding: 'utf8',
    env: { PATH: '/usr/local/bin:/usr/bin:/usr/sbin' },
  })
}

function configuration(): Inspected['OCIv1']['config'] {
  return (JSON.parse(buildah('inspect', '--type=image', image)) as Inspected).OCIv1.config
}

/** Throws unless it holds. */
function check(what: string, holds: boolean): void {
  if (!holds) throw new Error(`failed: ${what}`)
  say(`ok: ${what}`)
}

/** Runs in the image and says what it is allowed to do. */
const probe = `
  const fs = require('node:fs')
  const tryTo = (work) => { try { work(); return 'done' } catch (error) { return error.code } }
  const status = fs.readFileSync('/proc/self/status', 'utf8')
  console.log(JSON.stringify({
    uid: process.getuid(), gid: process.getgid(), node: process.version,
    capabilities: /^CapEff:\\s*(\\S+)/m.exec(status)[1], bounding: /^CapBnd:\\s*(\\S+)/m.exec(status)[1],
    app: tryTo(() => fs.writeFileSync('/app/core/x', '')), tmp: tryTo(() => fs.writeFileSync('/tmp/x', '')),
  }))`

mountAll()
say(buildah('--version'))
buildBase()
say('the base is there; the image is built')
await buildImage()
const { User, Entrypoint, Cmd } = configuration()
say(buildah('images', '--format', '{{.Name}} {{.Size}} {{.Digest}}', image))
check('the image runs as 65532', User === '65532:65532')
const help = runImage([...Entrypoint, ...Cmd])
check('its command line runs', help.includes('payweave'))
const seen = JSON.parse(runImage([...Entrypoint, '-e', probe])) as Record<string, unknown>
check('its process is user 65532', seen['uid'] === 65_532 && seen['gid'] === 65_532)
const none = '0'.repeat(16)
check('it has no capability', seen['capabilities'] === none && seen['bounding'] === none)
check('its root cannot be written', seen['app'] === 'EROFS')
check('/tmp can be written', seen['tmp'] === 'done')
check('it has our release of Node.js', seen['node'] === process.version)
