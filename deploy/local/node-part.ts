// Runs one of our scripts as a process of its own and tells when the parts are ready.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from './launch-error.ts'
import type { NodePart } from './parts.ts'
import type { Part, Supervisor } from './supervise.ts'
import { spawnTied } from './tied-process.ts'

const readyTimeoutMs = 60_000
const probeTimeoutMs = 2_000
/** A part that ends so often before it was ever ready will not get better by itself. */
const hopelessEndings = 3
const largestLogBytes = 20 * 1024 * 1024
const boundEveryMs = 15_000

/** The part as the supervisor runs it; its output goes to `<logs>/<name>.log`. */
export function supervisedPart(part: NodePart, logsDir: string): Part {
  const logFile = path.join(logsDir, `${part.name}.log`)
  return {
    name: part.name,
    ports: part.ports,
    start: async () => {
      const log = openLog(logFile)
      try {
        const child = await spawnTied({
          command: [process.execPath, part.script],
          deathSignal: 'TERM',
          env: part.env,
          // The ipc channel closes when we die, however we die: the part's cue to stop.
          stdio: ['ignore', log, log, 'ipc'],
          cwd: path.dirname(logsDir),
        })
        const bounding = setInterval(() => boundLog(logFile), boundEveryMs).unref()
        void child.exited.then(() => clearInterval(bounding))
        return { ...child, stop: () => child.end('SIGTERM', part.stopWithinMs) }
      } finally {
        fs.closeSync(log)
      }
    },
  }
}

/** The part holds the file open for appending: it goes on at the new end of a file that was cut. */
export function boundLog(file: string, largestBytes = largestLogBytes): void {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size <= largestBytes) return
  fs.copyFileSync(file, `${file}.1`)
  fs.truncateSync(file)
}

function openLog(file: string): number {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > largestLogBytes) fs.renameSync(file, `${file}.1`)
  return fs.openSync(file, 'a', 0o600)
}

/** Resolves when every part is ready; rejects, saying why, when one will not be. */
export async function becomeReady(
  parts: NodePart[],
  supervisor: Supervisor,
  logsDir: string,
  stopping: AbortSignal,
): Promise<void> {
  const untilMs = Date.now() + readyTimeoutMs
  let waiting = parts
  while (waiting.length > 0) {
    const answers = await Promise.all(waiting.map((part) => isReady(part)))
    waiting = waiting.filter((_, index) => !answers[index])
    stopping.throwIfAborted()
    const hopeless = waiting.find(({ name }) => supervisor.endings(name) >= hopelessEndings)
    if (hopeless)
      throw new LaunchError(`${hopeless.name} does not start. ${lastLines(hopeless, logsDir)}`)
    if (Date.now() > untilMs) {
      const names = waiting.map(({ name }) => name).join(', ')
      const last = waiting[0] ? lastLines(waiting[0], logsDir) : ''
      throw new LaunchError(`not ready after ${readyTimeoutMs / 1_000} s: ${names}. ${last}`)
    }
    if (waiting.length > 0) await sleep(50)
  }
}

async function isReady({ readyUrls }: NodePart): Promise<boolean> {
  const answers = await Promise.all(readyUrls.map(answersOk))
  return answers.every(Boolean)
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) })
    await answer.body?.cancel()
    return answer.status === 200
  } catch {
    return false
  }
}

function lastLines({ name }: NodePart, logsDir: string): string {
  const file = path.join(logsDir, `${name}.log`)
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n').slice(-6)
  return `Its log, ${file}, ends:\n${lines.map((line) => `  ${line.slice(0, 400)}`).join('\n')}`
}
