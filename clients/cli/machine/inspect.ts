// Inspects a running system from outside, read-only: its processes, their health and their backlogs.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import type { ProcessTable } from '../../../deploy/local/process/supervise.ts'
import { maxOf, minOf, readSamples, type Sample, sumOf } from './metric-text.ts'

/** One part as it is found. */
export type PartState = {
  name: string
  pid?: number
  ports: number[]
  up: boolean
  ready: boolean
  memoryBytes?: number
  startedAt?: Date
  version?: string
}

/** Backlogs and failures; undefined where they are not known. */
export type Figures = {
  outboxUnconfirmed: number | undefined
  outboxOldestS: number | undefined
  outboxDeadLetters: number | undefined
  inboxDeadLetters: number | undefined
  deliveriesExhausted: number | undefined
  deliveriesBlocked: number | undefined
  billsForReview: number | undefined
  ledgerFindings: number | undefined
  ledgerCheckedAt: Date | undefined
  settlementsRefused: number | undefined
  refundsFailed: number | undefined
}

export type SystemState = { ready: boolean; parts: PartState[]; figures: Figures }

const probeTimeoutMs = 3_000

/**
 * Inspects the system that runs on a data folder. Parts that do not answer are down; rejects only when the folder's
 * `processes.json` is not JSON.
 */
export async function inspectFolder(dataDir: string): Promise<SystemState> {
  const processes = readProcesses(dataDir)
  const found = await Promise.all(
    Object.entries(processes).map(([name, { pid, ports }]) =>
      isStore(name) ? inspectStore(name, pid, ports, dataDir) : inspectProcess(name, pid, ports),
    ),
  )
  const parts = found.map(({ part }) => part)
  const samples = found.flatMap((one) => one.samples)
  const gatewayPort = processes['gateway']?.ports[0]
  const mesh = gatewayPort === undefined ? undefined : await readinessOf(local(gatewayPort))
  for (const part of parts) part.ready &&= mesh?.parts[part.name] !== false
  const ready = mesh?.ready === true && parts.every((part) => part.up && part.ready)
  return { ready, parts, figures: figuresOf(samples) }
}

/**
 * Inspects a system of which only the address is known, through its gateway's readiness; one that does not answer is
 * down. Never rejects.
 */
export async function inspectAddress(baseUrl: string): Promise<SystemState> {
  const mesh = await readinessOf(baseUrl)
  const parts = Object.entries(mesh?.parts ?? { gateway: false }).map(([name, ready]) => ({
    name,
    ports: [],
    up: mesh !== undefined,
    ready,
  }))
  return { ready: mesh?.ready === true, parts, figures: figuresOf([]) }
}

/**
 * The processes of a data folder; none when nothing was ever started there. Throws a SyntaxError when the file is not
 * JSON.
 */
export function readProcesses(dataDir: string): ProcessTable {
  const file = path.join(dataDir, 'processes.json')
  return fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as ProcessTable) : {}
}

/** Whether a process runs; a zombie counts as ended. */
export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const status = readIf(`/proc/${pid}/status`)
  return status === undefined || !/^State:\s*[ZX]/m.test(status)
}

const local = (port: number) => `http://127.0.0.1:${port}`
const isStore = (name: string) => name === 'postgres' || name === 'nats'

async function inspectProcess(name: string, pid: number, ports: number[]) {
  // The last port of a process is its admin port.
  const admin = local(ports.at(-1) ?? 0)
  const [ready, metrics] = await Promise.all([readinessOf(admin), textOf(`${admin}/metrics`)])
  const samples = readSamples(metrics?.text ?? '')
  const startedS = sumOf(samples, 'process_start_time_seconds')
  const memoryBytes = sumOf(samples, 'process_resident_memory_bytes')
  const version = samples.find((one) => one.name === 'nodejs_version_info')?.labels['version']
  const part: PartState = {
    name,
    pid,
    ports,
    up: runs(pid),
    ready: ready?.ready === true,
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(startedS !== undefined && { startedAt: new Date(startedS * 1_000) }),
    ...(version !== undefined && { version: `node ${version.replace('v', '')}` }),
  }
  return { part, samples }
}

async function inspectStore(name: string, pid: number, ports: number[], dataDir: string) {
  const info = name === 'nats' ? await infoOf(ports[0] ?? 0) : undefined
  const nats = /"version":"([^"]+)"/.exec(info ?? '')?.[1]
  const postgres = readIf(path.join(dataDir, 'postgres', 'cluster', 'PG_VERSION'))?.trim()
  const version = name === 'nats' ? nats : postgres
  const kib = /^VmRSS:\s*(\d+)/m.exec(readIf(`/proc/${pid}/status`) ?? '')?.[1]
  const up = runs(pid)
  const part: PartState = {
    name,
    pid,
    ports,
    up,
    ready: name === 'nats' ? nats !== undefined : up && (await takesConnections(ports[0] ?? 0)),
    ...(kib !== undefined && { memoryBytes: Number(kib) * 1_024 }),
    ...(version !== undefined && { version: `${name} ${version}` }),
  }
  return { part, samples: [] as Sample[] }
}

type Readiness = { ready: boolean; parts: Record<string, boolean> }

async function readinessOf(base: string): Promise<Readiness | undefined> {
  const answer = await textOf(`${base}/readyz`)
  if (answer === undefined) return undefined
  try {
    const { parts = {} } = JSON.parse(answer.text) as { parts?: Record<string, boolean> }
    return { ready: answer.status === 200, parts }
  } catch {
    return { ready: false, parts: {} }
  }
}

async function textOf(url: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) })
    return { status: answer.status, text: await answer.text() }
  } catch {
    return undefined
  }
}

/** The first line that a nats-server sends, with its version; undefined when none comes. */
function infoOf(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', timeout: probeTimeoutMs })
    const settle = (text?: string) => {
      socket.destroy()
      resolve(text)
    }
    socket.once('data', (info) => settle(info.toString()))
    for (const end of ['error', 'timeout', 'close']) socket.once(end, () => settle())
  })
}

/** Whether something listens on a port of this machine; false after 3 s. */
function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', timeout: probeTimeoutMs })
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => settle(true))
    for (const end of ['error', 'timeout']) socket.once(end, () => settle(false))
  })
}

function figuresOf(samples: Sample[]): Figures {
  const checkedS = minOf(samples, 'payweave_ledger_check_time_seconds')
  const dead = (state: string) => sumOf(samples, 'payweave_delivery_dead_letters', { state })
  return {
    outboxUnconfirmed: sumOf(samples, 'payweave_outbox_unconfirmed'),
    outboxOldestS: maxOf(samples, 'payweave_outbox_oldest_unconfirmed_seconds'),
    outboxDeadLetters: sumOf(samples, 'payweave_outbox_dead_letters'),
    inboxDeadLetters: sumOf(samples, 'payweave_inbox_dead_letters'),
    deliveriesExhausted: dead('exhausted'),
    deliveriesBlocked: dead('blocked'),
    billsForReview: sumOf(samples, 'payweave_billing_waiting', { for: 'person' }),
    ledgerFindings: sumOf(samples, 'payweave_ledger_findings'),
    ledgerCheckedAt:
      checkedS === undefined || checkedS === 0 ? undefined : new Date(checkedS * 1_000),
    settlementsRefused: sumOf(samples, 'payweave_ledger_settlements_refused'),
    refundsFailed: sumOf(samples, 'payweave_payments_refunds_failed_total'),
  }
}

function readIf(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
