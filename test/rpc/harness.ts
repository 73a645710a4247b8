// One service as a process of its own, for tests that measure it from outside.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { lastingSecrets, newLastingSecret } from '../../deploy/bootstrap/lasting-secrets.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'

/** The bearer that may call everything. */
export const bearer = 'operator-credential-0123456789'

/** A service that needs no broker. */
export type MeasuredService = 'quotes' | 'billing'

/** A running service. */
export interface ServiceProcess {
  /** Port of its RPCs, on the loopback address. */
  port: number
  /** Asks `/livez`; throws unless it answers 200. */
  alive(): Promise<void>
  /** Resident memory in bytes. */
  residentBytes(): number
  /** Forgets the highest resident memory so far. */
  resetPeak(): void
  /** Highest resident memory since then, in bytes. */
  peakBytes(): number
  /** Ends it and removes its secrets. */
  stop(): Promise<void>
}

const root = path.resolve(import.meta.dirname, '../..')
const readyWithinMs = 40_000
/**
 * A probe of Kubernetes waits for 5 s. Counted is the CPU time that the process used meanwhile: on a machine with other work it is
 * not scheduled for seconds, which says nothing about it.
 */
const aliveWithinCpuMs = 5_000
const cpuLookMs = 100
/** Of the CPU times in /proc. */
const tickMs = 10

/** NODE_OPTIONS of every part in Kubernetes. */
function podOptions(): string {
  const file = path.join(root, 'deploy/k8s/components/every-part/deployment.yaml')
  const options = /name: NODE_OPTIONS, value: (\S+) \}/.exec(fs.readFileSync(file, 'utf8'))?.[1]
  if (options === undefined) throw new Error('the manifests set no NODE_OPTIONS')
  return options
}

/**
 * Starts it on a database with its schema, with the memory options of a pod, and waits until it is ready. A local start lets
 * V8 collect 64 MiB of young garbage first, which would hide what requests hold.
 */
export async function startServiceProcess(
  name: MeasuredService,
  databaseUrl: string,
): Promise<ServiceProcess> {
  const secrets = temporaryFolder('rpc')
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  writeIdentities(secrets, [name], [{ name: 'operator', sha256, rpcs: ['*'] }])
  for (const file of lastingSecrets[name] ?? []) {
    fs.writeFileSync(path.join(secrets, name, file), newLastingSecret(), { mode: 0o600 })
  }
  const [port = 0, adminPort = 0] = await freePorts(2)
  const nobody = 'http://127.0.0.1:9'
  const child = spawn(process.execPath, [`services/${name}/main.ts`], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      NODE_OPTIONS: podOptions(),
      MALLOC_ARENA_MAX: '2',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PAYWEAVE_ENV: 'local',
      DATABASE_URL: databaseUrl,
      SECRETS_DIR: path.join(secrets, name),
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      NATS_URL: process.env['TEST_NATS_URL'],
      ACCOUNTS_URL: nobody,
      BACKEND_URL: nobody,
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const admin = (page: string, signal: AbortSignal) =>
    fetch(`http://127.0.0.1:${adminPort}${page}`, { signal })
  const isReady = () =>
    admin('/readyz', AbortSignal.timeout(1_000)).then(
      (answer) => answer.ok,
      () => false,
    )
  await eventually(isReady, readyWithinMs)
  const statusOf = (field: string): number => {
    const status = fs.readFileSync(`/proc/${child.pid}/status`, 'utf8')
    const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
    if (found === undefined) throw new Error(`/proc shows no ${field}`)
    return Number(found) * 1_024
  }
  const cpuMs = (): number => {
    // The name of the program, which may hold blanks, ends at the last bracket.
    const [, fields = ''] =
      /\) (.*)/s.exec(fs.readFileSync(`/proc/${child.pid}/stat`, 'utf8')) ?? []
    const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number)
    return (user + system) * tickMs
  }
  return {
    port,
    async alive() {
      const late = new AbortController()
      const untilMs = cpuMs() + aliveWithinCpuMs
      const looking = setInterval(() => {
        if (cpuMs() > untilMs) late.abort(new Error(`/livez took ${aliveWithinCpuMs} ms of CPU`))
      }, cpuLookMs)
      try {
        const answer = await admin('/livez', late.signal)
        if (answer.status !== 200) throw new Error(`/livez answered ${answer.status}`)
        await answer.arrayBuffer()
      } finally {
        clearInterval(looking)
      }
    },
    residentBytes: () => statusOf('VmRSS'),
    // The kernel's code for "the peak is what it is now".
    resetPeak: () => fs.writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    peakBytes: () => statusOf('VmHWM'),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit')
        child.kill('SIGTERM')
        await exited
      }
      fs.rmSync(secrets, { recursive: true, force: true })
    },
  }
}
