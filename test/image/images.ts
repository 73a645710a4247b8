// Builds images with buildah, which runs in its own Debian system below the mounts of this process.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { authorityOf } from './authority.ts'

const root = path.resolve(import.meta.dirname, '../..')
const baseImage = 'localhost/node'
const natsImage = 'localhost/nats'

/** Folders and programs of a build. */
export type Places = {
  /** The Debian system with buildah. */
  tools: string
  /** A Debian system that stands for the one in the image of Node.js. */
  base: string
  /** The nats-server that stands for the one in the image of NATS. */
  natsServer: string
  /** Empty; layers and temporary files go there. */
  work: string
}

/** What an image says about its process. */
export type Configuration = {
  User: string
  Entrypoint: string[]
  Cmd: string[]
  WorkingDir: string
  Env: string[]
}

/** Builds and opens images. */
export type Images = {
  version: string
  /** Builds a Dockerfile of `deploy/`, with more build arguments than those of every build. */
  build(file: string, tag: string, more?: Record<string, string>): void
  configuration(tag: string): Configuration
  /** Name, size and digest. */
  summary(tag: string): string
  /** The folder with the files of a new container. */
  files(tag: string): string
}

/** Runs a program to its end; what it prints. Throws when it fails. */
export function run(program: string, ...words: string[]): string {
  return execFileSync(program, words, { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/** Mounts what buildah needs, and makes the images that stand for those of a registry. */
export async function openImages({ tools, base, natsServer, work }: Places): Promise<Images> {
  const inside = (name: string) => path.join(tools, name)
  const mount = (...words: string[]) => run('mount', ...words)
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

  /** A step of a build is a chroot, which needs no runtime for containers. */
  function buildah(...words: string[]): string {
    return execFileSync('chroot', [tools, '/usr/bin/buildah', ...words], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      env: { PATH: '/usr/bin:/usr/sbin', BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'vfs' },
      stdio: ['ignore', 'pipe', 'inherit'],
    }).trim()
  }

  /** An image of these files of the Debian system with buildah, by their places in the image. */
  function standIn(tag: string, files: [from: string, to: string][]): void {
    const container = buildah('from', 'scratch')
    for (const [from, to] of files) buildah('copy', '--quiet', container, from, to)
    buildah('commit', '--quiet', '--rm', container, tag)
  }

  const temporary = path.join(work, 'tmp')
  const npm = '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n'
  fs.writeFileSync(path.join(temporary, 'npm'), npm, { mode: 0o755 })
  fs.copyFileSync(natsServer, path.join(temporary, 'nats-server'))
  standIn(baseImage, [
    ['/base', '/'],
    ['/node/node', '/usr/local/bin/node'],
    ['/npm', '/usr/local/lib/node_modules/npm'],
    ['/var/tmp/npm', '/usr/local/bin/npm'],
  ])
  standIn(natsImage, [['/var/tmp/nats-server', '/usr/local/bin/nats-server']])

  const registry = run('npm', 'config', 'get', 'registry').trim()
  const given = {
    NODE_IMAGE: baseImage,
    NATS_IMAGE: natsImage,
    NPM_CONFIG_REGISTRY: registry,
    NPM_CONFIG_CA: await authorityOf(registry),
  }
  return {
    version: buildah('--version'),
    build(file, tag, more = {}) {
      const facts = Object.entries({ ...given, ...more })
      const args = facts.map(([name, value]) => `--build-arg=${name}=${value}`)
      buildah(
        'build',
        '--quiet',
        ...limits(),
        ...args,
        `--file=/source/deploy/${file}`,
        `--tag=${tag}`,
        '/source',
      )
    },
    configuration(tag) {
      const inspected = JSON.parse(buildah('inspect', '--type=image', tag)) as Inspected
      return inspected.OCIv1.config
    },
    summary: (tag) => buildah('images', '--format', '{{.Name}} {{.Size}} {{.Digest}}', tag),
    files: (tag) => inside(buildah('mount', buildah('from', tag))),
  }
}

type Inspected = { OCIv1: { config: Configuration } }

/** The npm that runs this script. */
function npmFolder(): string {
  const cli = process.env['npm_execpath'] ?? fs.realpathSync(run('which', 'npm').trim())
  return path.resolve(cli, '../..')
}

/** The limits of this process: it may not raise them. */
function limits(): string[] {
  return ['nofile', 'nproc'].map((name) => {
    const option = name === 'nofile' ? '-n' : '-u'
    const limit = run('bash', '-c', `ulimit -H ${option}`).trim()
    return `--ulimit=${name}=${limit === 'unlimited' ? 1_048_576 : limit}`
  })
}
