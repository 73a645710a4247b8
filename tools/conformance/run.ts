// Runs checks against a deployment, some concurrently, and returns their results.

import { setTimeout as sleep } from 'node:timers/promises'
import { isLoopbackHost } from '#core/text/address.ts'
import {
  type ApiResponse,
  caller,
  type Exchange,
  WouldMake,
} from '../../clients/cli/api/api-call.ts'
import { clientOf, detailsOf } from '../../clients/cli/api/client.ts'
import { maskedText } from '../../clients/cli/api/masked.ts'
import { receiverAt } from '../../clients/cli/api/receiver.ts'
import type { Target } from '../../clients/cli/api/target.ts'
import { type Check, type CheckContext, type Need, Unmet } from './check.ts'

/** A call as the report shows it: its status is that of HTTP, or the name of a gRPC status. */
export type ShownExchange = Omit<Exchange, 'status'> & { status: number | string }

/** Result of a check. */
export type Result = {
  name: string
  rule: string
  result: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  reason?: string
  durationMs: number
  exchanges: ShownExchange[]
  /** The last answer of a check that failed, its secrets masked. */
  lastAnswer?: string
}

export type RunOptions = {
  /** How many checks run side by side. */
  atOnce: number
  /** Most calls a second; 0 for no limit. */
  ratePerS: number
  signal: AbortSignal
  onResult?: (result: Result) => void
}

const checkTimeoutMs = 90_000
const maxAnswer = 2_000

/** Runs all of them. The results stand in the order of the checks. */
export async function runChecks(
  target: Target,
  checks: readonly Check[],
  options: RunOptions,
): Promise<Result[]> {
  const results: Result[] = []
  const shared = new Map<string, Promise<unknown>>()
  const turn = pacer(options.ratePerS)
  // The checks that wait longest stand last: begun first, they wait while the others work.
  let left = checks.length
  async function work(): Promise<void> {
    while (left > 0 && !options.signal.aborted) {
      left -= 1
      const index = left
      const check = checks[index]
      if (check === undefined) return
      const result = await runOne(target, check, { ...options, turn, shared })
      results[index] = result
      options.onResult?.(result)
    }
  }
  await Promise.all(Array.from({ length: options.atOnce }, work))
  return results.filter((result) => result !== undefined)
}

type OneOptions = RunOptions & { turn: () => Promise<void>; shared: Map<string, Promise<unknown>> }

async function runOne(target: Target, check: Check, options: OneOptions): Promise<Result> {
  const { name, rule, needs } = check
  const exchanges: Exchange[] = []
  const startedMs = performance.now()
  const resultOf = (result: Result['result'], reason?: string): Result => ({
    name,
    rule,
    result,
    ...(reason !== undefined && { reason }),
    durationMs: Math.round(performance.now() - startedMs),
    exchanges,
  })
  const lacking = needs.find((need) => !has(target, need))
  if (lacking !== undefined) return resultOf('skipped', lackingWords[lacking])
  let last: ApiResponse | undefined
  const made = new Set<string>()
  const ended = new AbortController()
  const signal = AbortSignal.any([options.signal, ended.signal])
  const onAnswered = (exchange: Exchange, answer: ApiResponse) => {
    last = answer
    exchanges.push(exchange)
    if (exchange.path === '/payments/request' && answer.status === 200) {
      made.add(String(detailsOf(answer)['id']))
    }
  }
  const context = contextOf(target, { ...options, signal }, onAnswered)
  try {
    await withinTime(check.run(context), signal)
    return resultOf('passed')
  } catch (error) {
    if (options.signal.aborted) return resultOf('skipped', 'ended before')
    if (error instanceof WouldMake) return resultOf('skipped', error.message)
    const reason = error instanceof Error ? error.message : String(error)
    const text = last === undefined ? {} : { lastAnswer: shownAnswer(last) }
    return { ...resultOf('failed', reason), ...text }
  } finally {
    if (isForeign(target)) await tidyUp(target, options, made)
    ended.abort()
  }
}

function contextOf(
  target: Target,
  { signal, turn, shared }: OneOptions,
  onAnswered: (exchange: Exchange, answer: ApiResponse) => void,
): CheckContext {
  const call = caller(target, { signal, turn, onAnswered })
  return {
    target,
    shop: clientOf(target, call),
    as: (project) => clientOf(target, call, project),
    receiver: (kind) => receiverAt(target.simulatorUrl ?? '', kind, signal),
    once<T>(name: string, make: () => Promise<T>): Promise<T> {
      const known = shared.get(name) ?? make()
      shared.set(name, known)
      return known as Promise<T>
    },
  }
}

/** Where no sandbox file was given, what a check has made is cancelled again. */
async function tidyUp(target: Target, { turn }: OneOptions, made: Set<string>): Promise<void> {
  const client = clientOf(target, caller(target, { turn }))
  await Promise.allSettled([...made].map((id) => client.cancel(id)))
}

async function withinTime(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const waited = new AbortController()
  const late = sleep(checkTimeoutMs, 'late', {
    signal: AbortSignal.any([signal, waited.signal]),
  }).catch(() => 'late')
  const first = await Promise.race([work, late])
  waited.abort()
  if (first === 'late') throw new Unmet(`no end within ${checkTimeoutMs / 1_000} s`)
}

/** Lets callers through one after the other, `ratePerS` a second. */
function pacer(ratePerS: number): () => Promise<void> {
  let nextMs = 0
  return async () => {
    if (ratePerS === 0) return
    const nowMs = performance.now()
    const turnMs = Math.max(nowMs, nextMs)
    nextMs = turnMs + 1_000 / ratePerS
    await sleep(turnMs - nowMs)
  }
}

const isForeign = (target: Target) => target.institution === undefined && !target.readOnly

function has(target: Target, need: Need): boolean {
  if (need === 'api key') return target.projects.demo.apiKey !== undefined
  if (need === 'simulator') return target.simulatorUrl !== undefined
  if (need === 'loopback') return isLoopbackHost(new URL(target.baseUrl).hostname)
  return target.institution !== undefined
}

const lackingWords: Record<Need, string> = {
  'api key': 'needs an api_key (--api-key)',
  sandbox: "needs the sandbox's people and credentials (--sandbox with its sandbox.json)",
  simulator: 'needs the receivers of a simulator (--simulator-url)',
  loopback: 'can be distinguished on this machine only',
}

function shownAnswer({ status, text }: ApiResponse): string {
  return `${status} ${maskedText(text).slice(0, maxAnswer)}`
}
