// Which code of the project has run, from the blocks that V8 counts.
import { type Profiler, Session } from 'node:inspector/promises'
import path from 'node:path'

/** Watches what runs in this process. All code is slower meanwhile. */
export type Coverage = {
  /** Whether code has run since the last call that had not run before the last `accept`. Takes some milliseconds. */
  look(): Promise<boolean>
  /** Counts what the last look has seen as known. */
  accept(): void
  stop(): void
}

const root = path.resolve(import.meta.dirname, '../..')

/** Begins with no code known. */
export async function startCoverage(): Promise<Coverage> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  /** By URL of a file, 1 for each character of it that has run. */
  const known = new Map<string, Uint8Array>()
  let seen = new Map<string, Uint8Array>()
  return {
    async look() {
      const { result } = await session.post('Profiler.takePreciseCoverage')
      seen = new Map(result.filter(isOurs).map((script) => [script.url, coveredBy(script)]))
      return [...seen].some(([url, covered]) => hasMore(covered, known.get(url)))
    },
    accept() {
      for (const [url, covered] of seen) known.set(url, joined(covered, known.get(url)))
    },
    stop: () => session.disconnect(),
  }
}

const isOurs = ({ url }: Profiler.ScriptCoverage): boolean =>
  url.includes(root) && !url.includes('/node_modules/')

/** An inner block comes after the outer one, and says more. The array ends where the last function ends that V8 lists. */
function coveredBy({ functions }: Profiler.ScriptCoverage): Uint8Array {
  const ranges = functions.flatMap((one) => one.ranges)
  const covered = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)))
  for (const { startOffset, endOffset, count } of ranges) {
    covered.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  }
  return covered
}

function hasMore(covered: Uint8Array, before: Uint8Array | undefined): boolean {
  for (let at = 0; at < covered.length; at += 1) {
    if (covered[at] === 1 && before?.[at] !== 1) return true
  }
  return false
}

function joined(covered: Uint8Array, before: Uint8Array | undefined): Uint8Array {
  const all = new Uint8Array(Math.max(covered.length, before?.length ?? 0))
  if (before !== undefined) all.set(before)
  for (let at = 0; at < covered.length; at += 1) if (covered[at] === 1) all[at] = 1
  return all
}
