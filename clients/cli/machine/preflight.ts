// Checks the environment of a start, read-only: settings, ports, the data folder, disk, memory, limits, clock.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { LaunchError } from '../../../deploy/local/preflight/launch-error.ts'
import { requireFreePorts, type WantedPort } from '../../../deploy/local/preflight/ports.ts'
import { processNames } from '../../../deploy/local/process/parts.ts'
import {
  type LaunchSettings,
  natsPort,
  portsOf,
  postgresPort,
  readLaunchSettings,
} from '../../../deploy/local/settings.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'
import { readProcesses, runs } from './inspect.ts'
import { existing } from './programs.ts'

const gib = 1_073_741_824
const minDiskBytes = 0.5 * gib
const goodDiskBytes = 2 * gib
const goodMemoryBytes = 1.5 * gib
const goodOpenFiles = 4_096
const clockSlackMs = 60_000

/** Checks the settings of a start, and returns them when they are good. A LaunchError becomes a result. */
export function settingsResult(env: NodeJS.ProcessEnv): [CheckResult, LaunchSettings | undefined] {
  try {
    const settings = readLaunchSettings(env)
    return [ok('settings', `port ${settings.port}, block from ${settings.portBase} on`), settings]
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return [failed('settings', error.message, 'see docs/operate/settings.md'), undefined]
  }
}

/**
 * Checks that every port is free, or used by the system that runs on this data folder. A LaunchError becomes a result;
 * rejects with any other error.
 */
export async function portsResult(settings: LaunchSettings): Promise<CheckResult> {
  const running = Object.entries(readProcesses(settings.dataDir)).filter(([, { pid }]) => runs(pid))
  const own = new Set(running.flatMap(([, { ports }]) => ports))
  const wanted = wantedPorts(settings).filter(({ port }) => !own.has(port))
  try {
    await requireFreePorts(wanted, 0)
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error
    return failed(
      'ports',
      error.message.replaceAll('\n', '; '),
      'or stop the processes that use them',
    )
  }
  const used = own.size === 0 ? '' : `; ${own.size} used by the system running on this folder`
  return ok('ports', `${wanted.length} free${used}`)
}

const storePort = (part: string, port: number) => ({ part, port, setting: 'PORT_BASE' })

function wantedPorts(settings: LaunchSettings): WantedPort[] {
  const ofParts = processNames.flatMap((part) =>
    portsOf(settings, part).map((port) => ({
      part,
      port,
      setting: port === settings.port ? 'PORT' : 'PORT_BASE',
    })),
  )
  return [
    ...ofParts,
    ...(settings.databaseUrl ? [] : [storePort('postgres', postgresPort(settings))]),
    ...(settings.natsUrl ? [] : [storePort('nats', natsPort(settings))]),
  ]
}

/**
 * Checks that the data folder can be written, that only its owner reads its secrets, and that the disk has room. Throws
 * the system's error when the disk cannot be examined.
 */
export function folderResults(dataDir: string): CheckResult[] {
  const there = existing(dataDir)
  const isNew = there !== dataDir
  const says = isNew ? `${dataDir}, will be created` : dataDir
  return [rightsResult(there, dataDir, says), diskResult(there)]
}

function rightsResult(there: string, dataDir: string, says: string): CheckResult {
  try {
    fs.accessSync(there, fs.constants.W_OK | fs.constants.X_OK)
  } catch {
    return failed('data folder', `${there} cannot be written`, 'set PAYWEAVE_DATA_DIR to another')
  }
  const sandbox = path.join(dataDir, 'sandbox.json')
  const mode = fs.statSync(sandbox, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o077) === 0) return ok('data folder', says)
  return warning('data folder', `other users can read ${sandbox}`, `chmod 600 ${sandbox}`)
}

function diskResult(there: string): CheckResult {
  const { bavail, bsize } = fs.statfsSync(there)
  const bytes = bavail * bsize
  const says = `${(bytes / gib).toFixed(1)} GiB free`
  if (bytes >= goodDiskBytes) return ok('disk', says)
  const advice = 'free space, or set PAYWEAVE_DATA_DIR to a folder on another disk'
  return bytes < minDiskBytes ? failed('disk', says, advice) : warning('disk', says, advice)
}

/** Checks memory and the limit of open files. */
export function limitResults(): CheckResult[] {
  const bytes = process.availableMemory()
  const says = `${(bytes / gib).toFixed(1)} GiB available, ${os.availableParallelism()} processors`
  const files = openFiles()
  return [
    bytes >= goodMemoryBytes
      ? ok('memory', says)
      : warning('memory', says, 'the whole system uses about 1.3 GiB'),
    files === undefined || files >= goodOpenFiles
      ? ok('open files', files === undefined ? 'no known limit' : String(files))
      : warning('open files', `${files} at most`, 'ulimit -n 65536'),
  ]
}

function openFiles(): number | undefined {
  if (!fs.existsSync('/proc/self/limits')) return undefined
  const limits = fs.readFileSync('/proc/self/limits', 'utf8')
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  return soft === undefined || soft === 'unlimited' ? undefined : Number(soft)
}

/**
 * Checks that the clock (ms since 1970) is not behind the newest file of the checkout: keys, quotes and sessions depend
 * on it.
 */
export function clockResult(nowMs = Date.now()): CheckResult {
  const newestMs = fs.statSync(path.join(import.meta.dirname, 'preflight.ts')).mtimeMs
  const says = new Date(nowMs).toISOString()
  if (nowMs + clockSlackMs >= newestMs) return ok('clock', says)
  return failed(
    'clock',
    `${says} is before this checkout was created`,
    'set the clock, or run ntpd',
  )
}
