// Runs the container of the NATS pods that reloads certificates and passwords, beside a real server with the files of the manifests, and
// compares the dashboard and the alerts with what that server shows.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { connect } from 'nats'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { issueCertificate, openAuthority } from '../../deploy/local/certificates.ts'
import { natsProgram } from '../../deploy/local/nats/program.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'
import { manifestsRoot, ofKind, render } from './kustomize.ts'

const folder = temporaryFolder('nats-reload')
const at = (name: string) => path.join(folder, name)
const names = { names: ['DNS:localhost', 'IP:127.0.0.1'] }
const started: ChildProcess[] = []
let port = 0
let monitorPort = 0

/** The text of a manifest with the paths of its pod in our folder. */
const moved = (text: string) =>
  text.replaceAll(/\/(etc\/nats-tls|etc\/nats|run\/nats|data)\b/g, (_, name: string) => at(name))

function shipped(file: string, folderOf = 'nats'): string {
  return moved(fs.readFileSync(path.join(manifestsRoot, folderOf, file), 'utf8'))
}

/** Gives every user of the manifests this password. */
function setPassword(password: string): void {
  const users = new Set(shipped('users.conf').match(/(?<=\$)[A-Z_]+_PASSWORD\b/g))
  const lines = [...users].map((user) => `${user}: "${password}"\n`)
  fs.writeFileSync(at('etc/nats/passwords.conf'), lines.join(''))
}

function start(command: string, args: string[], env: Record<string, string> = {}): void {
  started.push(spawn(command, args, { stdio: 'ignore', env: { ...process.env, ...env } }))
}

/** Logs in as the gateway. Rejects when the certificate is not of this authority, or the password is refused. */
async function logIn(authority: string, password: string): Promise<void> {
  const tls = { caFile: path.join(at(authority), 'ca.crt') }
  const servers = `localhost:${port}`
  const connection = await connect({
    servers,
    user: 'gateway',
    pass: password,
    tls,
    reconnect: false,
  })
  await connection.close()
}

beforeAll(async () => {
  for (const name of ['etc/nats', 'etc/nats-tls', 'run/nats', 'data']) {
    fs.mkdirSync(at(name), { recursive: true })
  }
  const [client = 0, route = 0, monitor = 0] = await freePorts(3)
  port = client
  monitorPort = monitor
  await issueCertificate(await openAuthority(at('first')), at('etc/nats-tls'), names)
  const config = shipped('nats.conf')
    .replace(/^listen: .*$/m, `listen: "127.0.0.1:${client}"`)
    .replace(/^http: .*$/m, `http: "127.0.0.1:${monitor}"`)
    .replace(/^ {2}listen: .*$/m, `  listen: "127.0.0.1:${route}"`)
  fs.writeFileSync(at('etc/nats/nats.conf'), config)
  fs.writeFileSync(at('etc/nats/users.conf'), shipped('users.conf'))
  for (const file of ['tls.conf', 'cluster-tls.conf']) {
    // nats-server 2.9, which runs the tests where there is none newer, does not know the setting.
    const text = shipped(file, 'components/mesh-tls').replace(/^.*min_version.*$/m, '')
    fs.writeFileSync(path.join(at('etc/nats'), file), text)
  }
  // A server of a cluster needs a route to begin; this one leads to itself.
  const routes = `routes: ["nats-route://route:secret@127.0.0.1:${route}"]\n`
  const password = 'authorization { user: "route", password: "secret" }\n'
  fs.writeFileSync(at('etc/nats/routes.conf'), `${password}${routes}`)
  setPassword('before')
  const program = await natsProgram({ fallbackDir: folder, log: () => {} })
  start(program, ['--config', at('etc/nats/nats.conf'), '--log', at('log')], {
    SERVER_NAME: 'nats-0',
    ROUTE_ADDRESS: `127.0.0.1:${route}`,
  })
  const { containers } = ofKind(render('production'), 'StatefulSet')[0]?.spec.template.spec ?? {}
  const reload = containers.find(({ name }: { name: string }) => name === 'reload')
  const [shell, ...args] = reload.command.map((text: string) =>
    moved(text).replace('sleep 10', 'sleep 0.1').replace('-ge 60', '-ge 5'),
  )
  start(shell, args, { PATH: `${path.dirname(program)}:${process.env['PATH']}` })
})

afterAll(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  fs.rmSync(folder, { recursive: true })
})

it('NATS presents a renewed certificate and takes new passwords without a restart', async () => {
  await eventually(() => logIn('first', 'before'))
  await issueCertificate(await openAuthority(at('second')), at('etc/nats-tls'), names)
  await eventually(() => logIn('second', 'before'))
  await expect(logIn('first', 'before')).rejects.toThrow(/certificate|CONNECTION_REFUSED|TLS/i)
  setPassword('after')
  await eventually(() => logIn('second', 'after'))
  await expect(logIn('second', 'before')).rejects.toThrow(/authorization/i)
  expect(started.map(({ exitCode }) => exitCode)).toEqual([null, null])
}, 120_000)

it('a NATS server that refuses its files keeps the loaded ones, and its load time stays', async () => {
  await eventually(() => logIn('second', 'after'))
  const client = await connect({
    servers: `localhost:${port}`,
    user: 'gateway',
    pass: 'after',
    tls: { caFile: path.join(at('second'), 'ca.crt') },
    reconnect: false,
  })
  const loaded = await loadTime()
  // It reads them again and again, also when nothing has changed, and no client notices.
  await eventually(async () => expect(await loadTime()).toBeGreaterThan(loaded))
  const certificate = at('etc/nats-tls/tls.crt')
  const sound = fs.readFileSync(certificate)
  fs.writeFileSync(certificate, 'broken')
  await eventually(() => expect(refusals()).toBeGreaterThan(0))
  const refusedSince = await loadTime()
  const before = refusals()
  await eventually(() => expect(refusals()).toBeGreaterThan(before))
  expect(await loadTime()).toBe(refusedSince)
  await logIn('second', 'after')
  fs.writeFileSync(certificate, sound)
  await eventually(async () => expect(await loadTime()).toBeGreaterThan(refusedSince))
  expect(client.isClosed()).toBe(false)
  await client.close()
}, 120_000)

/** How often the server has refused its files. */
function refusals(): number {
  return fs.readFileSync(at('log'), 'utf8').match(/Failed to reload/g)?.length ?? 0
}

type Varz = { config_load_time: string }

async function readVarz(): Promise<Varz> {
  const response = await fetch(`http://127.0.0.1:${monitorPort}/varz`)
  return (await response.json()) as Varz
}

/** When the server last took its files, in milliseconds since 1970. */
async function loadTime(): Promise<number> {
  return Date.parse((await readVarz()).config_load_time)
}

/** What prometheus-nats-exporter shows as a number of milliseconds. */
const times = new Set(['start', 'config_load_time'])

/** The names that prometheus-nats-exporter gives to the numbers of an object of the monitoring port. */
function metricNames(prefix: string, object: object): string[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const name = `${prefix}_${key}`
    if (typeof value === 'number' || times.has(key)) return [name]
    return typeof value === 'object' && value !== null ? metricNames(name, value) : []
  })
}

it('NATS shows the numbers of a server that its dashboard and the alerts ask for', async () => {
  const varz = await eventually(readVarz)
  const texts = ['nats.json', 'alerts.yaml'].map((file) =>
    fs.readFileSync(path.join(manifestsRoot, 'components/monitoring', file), 'utf8'),
  )
  const asked = new Set(texts.flatMap((text) => text.match(/gnatsd_varz_\w+/g) ?? []))
  expect(asked.size).toBeGreaterThan(5)
  const shown = new Set(metricNames('gnatsd_varz', varz))
  expect([...asked].filter((name) => !shown.has(name))).toEqual([])
})
