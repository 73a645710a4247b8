// The command that reseals values at rest, page by page, with its progress. An interrupted run can be resumed.
import { setTimeout as delay } from 'node:timers/promises'
import {
  KeyStep,
  type ResealPageResponse,
} from '#gen/payweave/accounts/v1/key_administration_pb.js'
import type { CommandContext } from '../command.ts'
import { isPassing } from '../connection.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { type KeyWork, waitForReaders, withKeys } from './work.ts'

const name = 'accounts/seal.key'
const defaultRate = '2000'
const reportEachMs = 1_000
const retry = { firstMs: 500, maxMs: 10_000, forMs: 120_000 } as const

/**
 * Runs `keys reseal`; resolves to 1 when values are left. Throws a UsageError for a bad `--rate`; rejects with a
 * VaultError for a folder that cannot be used, with an Error when processes do not use the key in time or the person
 * ends it, and with the Failure of an RPC, after two minutes of retries if it is transient.
 */
export function reseal(context: CommandContext): Promise<number | void> {
  const rate = wholeNumber(context.options['rate'] ?? defaultRate, 'rate', 1_000_000)
  return withKeys(context, async (work) => {
    const keyId = await currentKey(work)
    let { left } = await pass(work, { keyId, checkOnly: true, rate })
    let [sealed, unopened] = [0, [] as string[]]
    // Repeated, because a pass skips values that another transaction is changing, and processes that read the new key
    // late may have sealed more values under the old one.
    while (left > unopened.length && !context.flags.has('check')) {
      const done = await pass(work, { keyId, checkOnly: false, rate, total: left })
      sealed += done.sealed
      unopened = done.unopened
      const check = await pass(work, { keyId, checkOnly: true, rate })
      if (done.sealed === 0 && check.left >= left) break
      left = check.left
    }
    if (sealed > 0) await work.services.record(name, keyId, KeyStep.RESEALED)
    return printResult(context, { keyId, sealed, left, unopened })
  })
}

/** The folder's current key, once every process uses it: one that is behind would seal under the previous key. */
async function currentKey(work: KeyWork): Promise<string> {
  const { keyId, makeTime } = work.folder.read(name).current
  if (makeTime === undefined) {
    work.context.warn(
      `key ${keyId} is from before key lists: only the next key binds values to their rows, see "keys rotate ${name}"`,
    )
  }
  const is = ({ keyIds }: { keyIds: string[] }) => keyIds[0] === keyId
  await waitForReaders(work, name, { is, words: `use key ${keyId}` })
  return keyId
}

type Pass = { keyId: string; checkOnly: boolean; rate: number; total?: number }

/** Goes through all values once, sealing at most `rate` a second. */
async function pass(
  { context, services }: KeyWork,
  { keyId, checkOnly, rate, total }: Pass,
): Promise<{ sealed: number; left: number; unopened: string[] }> {
  const startedMs = performance.now()
  const all = { checked: 0, sealed: 0, left: 0, unopened: [] as string[] }
  let printedMs = startedMs
  let pageToken = ''
  const progress = context.progress(checkOnly ? 'checked' : 'resealed')
  try {
    do {
      if (context.stopping.aborted) throw new Error('interrupted: run it again to continue')
      const page = await withRetry(context, () => services.reseal({ pageToken, keyId, checkOnly }))
      add(all, page)
      pageToken = page.nextPageToken
      const nowMs = performance.now()
      if (checkOnly) progress.update(all.checked)
      else progress.update(all.sealed, total === undefined ? undefined : all.sealed / total)
      const isDue = !progress.isShown && nowMs - printedMs >= reportEachMs
      if (isDue || pageToken === '') {
        progress.stop()
        printProgress(context, { ...all, checkOnly, total, elapsedS: (nowMs - startedMs) / 1_000 })
        printedMs = nowMs
      }
      const aheadMs = (all.sealed / rate) * 1_000 - (nowMs - startedMs)
      if (aheadMs > 0 && pageToken !== '') await pause(context, aheadMs)
    } while (pageToken !== '')
  } finally {
    progress.stop()
  }
  return all
}

function add(
  all: { checked: number; sealed: number; left: number; unopened: string[] },
  page: ResealPageResponse,
): void {
  all.checked += page.checkedCount
  all.sealed += page.resealedCount
  all.left += page.leftCount
  all.unopened.push(...page.unopened.map(({ column, rowId }) => `${column} of ${rowId}`))
}

/**
 * Retries a page with exponential backoff, since a replica of accounts may be replaced meanwhile. A page may be
 * repeated.
 */
async function withRetry<T>(context: CommandContext, ask: () => Promise<T>): Promise<T> {
  const untilMs = Date.now() + retry.forMs
  for (let waitMs: number = retry.firstMs; ; waitMs = Math.min(retry.maxMs, waitMs * 2)) {
    try {
      return await ask()
    } catch (error) {
      if (!isPassing(error) || Date.now() > untilMs || context.stopping.aborted) throw error
    }
    await pause(context, waitMs)
  }
}

async function pause({ stopping }: CommandContext, ms: number): Promise<void> {
  await delay(ms, undefined, { signal: stopping }).catch(() => undefined)
}

type Progress = {
  checkOnly: boolean
  checked: number
  sealed: number
  left: number
  total: number | undefined
  elapsedS: number
}

function printProgress(
  { json, print, warn }: CommandContext,
  { checkOnly, checked, sealed, left, total, elapsedS }: Progress,
): void {
  const ratePerS = elapsedS === 0 ? 0 : Math.round(checked / elapsedS)
  const sealedPerS = elapsedS === 0 ? 0 : sealed / elapsedS
  const isKnown = total !== undefined && sealedPerS > 0
  const remainingS = isKnown ? Math.ceil(Math.max(0, total - sealed) / sealedPerS) : null
  if (json) {
    const step = checkOnly ? 'check' : 'seal'
    print(
      JSON.stringify({
        step,
        checked,
        sealed,
        total: total ?? null,
        left: checkOnly ? left : null,
        rate_per_s: ratePerS,
        remaining_s: remainingS,
      }),
    )
  } else if (checkOnly) warn(`checked ${checked}  not resealed ${left}  ${ratePerS}/s`)
  else {
    const ahead = remainingS === null ? '' : `  ${remainingS} s left`
    warn(`resealed ${sealed} of ${total ?? '?'}  checked ${checked}  ${ratePerS}/s${ahead}`)
  }
}

type End = { keyId: string; sealed: number; left: number; unopened: string[] }

/** Prints the result and returns the exit code. */
function printResult({ json, print }: CommandContext, end: End): number {
  const { keyId, sealed, left, unopened } = end
  if (json) print(JSON.stringify({ step: 'end', key_id: keyId, sealed, left, unopened }))
  else {
    for (const value of unopened) print(`no key opens  ${value}`)
    print(`key ${keyId}  resealed ${sealed}  left ${left}`)
  }
  return left === 0 ? 0 : 1
}
