// The delivery process with a bearer of its own, for tests that look at it from outside. It must not know its tables.
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts } from '../support/servers.ts'

/** The bearer that may call everything. */
export const bearer = 'operator-credential-0123456789'

const root = path.resolve(import.meta.dirname, '../..')

/** A delivery process. */
export interface DeliveryProcess {
  /** Where it serves RPC. */
  url: string
  adminUrl: string
  pid: number
  /** All that it has printed. */
  output(): string
  /** Calls an RPC with a JSON body. */
  call(rpc: string, request: object): Promise<Record<string, unknown>>
  /** Ends it and says how: the exit code, and after how many milliseconds. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; tookMs: number }>
}

/**
 * Starts it and waits until it is ready.
 * @throws what it has printed, when it ends or is not ready in time; it is then gone
 */
export async function startDeliveryProcess(
  env: Record<string, string>,
  readyWithinMs = 40_000,
): Promise<DeliveryProcess> {
  const secrets = mkdtempSync(path.join(os.tmpdir(), 'payweave-delivery-'))
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  writeIdentities(secrets, ['delivery'], [{ name: 'operator', sha256, rpcs: ['*'] }])
  const [port = 0, adminPort = 0] = await freePorts(2)
  const child = spawn(process.execPath, ['services/delivery/main.ts'], {
    cwd: root,
    env: {
      ...process.env,
      PAYWEAVE_ENV: 'local',
      SECRETS_DIR: path.join(secrets, 'delivery'),
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      LOG_LEVEL: 'info',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const output = gather(child)
  const url = `http://127.0.0.1:${port}`
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const isAlive = () => child.exitCode === null && child.signalCode === null
  const stop: DeliveryProcess['stop'] = async (signal = 'SIGTERM') => {
    const startedMs = performance.now()
    if (isAlive()) {
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    }
    rmSync(secrets, { recursive: true, force: true })
    return { code: child.exitCode, tookMs: performance.now() - startedMs }
  }
  try {
    await eventually(async () => {
      const answer = await fetch(`${adminUrl}/readyz`).catch(() => undefined)
      return !isAlive() || (answer?.ok ?? false)
    }, readyWithinMs)
    if (!isAlive()) throw new Error('it has ended')
  } catch (error) {
    await stop('SIGKILL')
    throw new Error(`delivery did not become ready: ${output()}`, { cause: error })
  }
  return {
    url,
    adminUrl,
    pid: child.pid ?? 0,
    output,
    async call(rpc, request) {
      const answer = await fetch(`${url}/${rpc}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        body: JSON.stringify(request),
      })
      return (await answer.json()) as Record<string, unknown>
    },
    stop,
  }
}

/** Collects what a child prints. */
function gather(child: ChildProcess): () => string {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text) => {
      output += String(text)
    })
  }
  return () => output
}
