// Runs one of our scripts as a child process and resolves when its parts are ready.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitForStart } from '#platform/process/lifecycle.ts'
import { LaunchError } from '../preflight/launch-error.ts'
import { knownProblem } from '../preflight/problems.ts'
import { heapOptions } from './heap.ts'
import { keepBounded, openLog } from './log-file.ts'
import type { NodePart } from './parts.ts'
import type { Part, Supervisor } from './supervise.ts'
import { spawnTied } from './tied-process.ts'

/** What npm installs has no links to follow, so Node.js does not look for any: a third of a start less. */
const quickly = ['--preserve-symlinks']
const readyTimeoutMs = 60_000
const probeTimeoutMs = 2_000
const lookAgainMs = 20
/** Number of exits before it was ever ready after which a part is not restarted any more. */
const hopelessEndings = 3

/** A part of ours as the supervisor runs it. */
export type PreloadedPart = Part & {
  node: NodePart
  /** Whether it has said so by itself; only then it is worth asking. */
  saidReady(): boolean
}

/**
 * Loads its code at once and does its work from `mayBegin` on. Its output goes to `<logs>/<name>.log`.
 */
export function preloadedPart(
  node: NodePart,
  logsDir: string,
  mayBegin: Promise<void>,
): PreloadedPart {
  const logFile = path.join(logsDir, `${node.name}.log`)
  let saidReady = false
  return {
    name: node.name,
    ports: node.ports,
    node,
    saidReady: () => saidReady,
    start: async () => {
      const log = openLog(logFile)
      try {
        const running = await spawnTied({
          command: [process.execPath, ...heapOptions, ...quickly, node.script, waitForStart],
          deathSignal: 'TERM',
          env: node.env,
          // The ipc channel closes when we die, however we die: the part's cue to stop.
          stdio: ['ignore', log, log, 'ipc'],
          cwd: path.dirname(logsDir),
        })
        running.child.once('message', () => {
          saidReady = true
        })
        void mayBegin.then(() => running.alive() && running.child.send('begin'))
        keepBounded(logFile, running.exited)
        return { ...running, stop: () => running.end('SIGTERM', node.stopWithinMs) }
      } finally {
        fs.closeSync(log)
      }
    },
  }
}

/** Resolves when every part is ready; rejects, saying why, when one will not be. */
export async function becomeReady(
  parts: PreloadedPart[],
  supervisor: Supervisor,
  logsDir: string,
  stopping: AbortSignal,
): Promise<void> {
  const untilMs = Date.now() + readyTimeoutMs
  let waiting = parts
  while (waiting.length > 0) {
    // The gateway's answer asks all others, so it is requested only after all have reported ready.
    const areUp = waiting.every((part) => part.saidReady())
    const answers = areUp ? await Promise.all(waiting.map(({ node }) => isReady(node))) : []
    waiting = waiting.filter((_, index) => !answers[index])
    stopping.throwIfAborted()
    const hopeless = waiting.find(({ name }) => supervisor.endings(name) >= hopelessEndings)
    if (hopeless)
      throw new LaunchError(failureOf(hopeless, `${hopeless.name} does not start`, logsDir))
    const [first] = waiting
    if (first !== undefined && Date.now() > untilMs) {
      const names = waiting.map(({ name }) => name).join(', ')
      throw new LaunchError(
        failureOf(first, `not ready after ${readyTimeoutMs / 1_000} s: ${names}`, logsDir),
      )
    }
    if (waiting.length > 0) await sleep(lookAgainMs)
  }
}

async function isReady({ readyUrls }: NodePart): Promise<boolean> {
  const answers = await Promise.all(readyUrls.map(answersOk))
  return answers.every(Boolean)
}

function answersOk(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(probeTimeoutMs)
    // Not by fetch, which would take as long to load as a quarter of the launcher.
    const request = http.get(url, { agent: false, signal }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    request.once('error', () => resolve(false))
  })
}

/** One line where the log says what is wrong with this machine; else the end of the log after it. */
function failureOf({ name }: Part, what: string, logsDir: string): string {
  const file = path.join(logsDir, `${name}.log`)
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n').slice(-6)
  const known = knownProblem(lines.join('\n'), logsDir)
  if (known !== undefined) return `${what}: ${known}`
  return `${what}. Its log, ${file}, ends:\n${lines.map((line) => `  ${line.slice(0, 400)}`).join('\n')}`
}
