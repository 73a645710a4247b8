// Reads health and metrics of every replica of every part, once a minute.
import { lookup } from 'node:dns/promises'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { parseExposition, type Sample } from './exposition.ts'
import { type Alert, type BacklogTrend, createHistory, type PartSample } from './history.ts'
import { backlogs, repliesMetric, rules } from './rules.ts'

/** A part and the address of its port for operators; its name may stand for the addresses of several replicas. */
export type PartAddress = { part: string; url: string }

/** One replica, or a part of which none was found. */
export type Replica = {
  part: string
  address: string
  /** Why it is not ready: `not ready: database`, or why it did not answer. Empty: it is. */
  problem: string
  startMs: number | undefined
  memoryBytes: number | undefined
  loopLagS: number | undefined
}

/** What the page Now shows; undefined before the first round. */
export type Seen = {
  timeMs: number
  replicas: Replica[]
  trends: BacklogTrend[]
  alerts: Alert[]
}

/** Reads the parts until it is closed. */
export type Parts = Pick<Loop, 'close'> & {
  /** The last round, and the hour before it. */
  seen(): Seen | undefined
  /** Reads all parts now. Never rejects: a part that cannot be read is part of what is seen. */
  read(): Promise<void>
}

const everyMs = 60_000
/** As that of Prometheus. */
const timeoutMs = 10_000
const facts = {
  start: 'process_start_time_seconds',
  memory: 'process_resident_memory_bytes',
  lag: 'nodejs_eventloop_lag_p99_seconds',
}
const wanted = new Set([
  ...Object.values(facts),
  ...backlogs.map(({ metric }) => metric),
  ...rules.flatMap(({ of, whole }) =>
    [...of, ...(whole ? [whole] : [])].map(({ metric }) => metric),
  ),
])

/** Starts to read the parts. */
export function watchParts(addresses: readonly PartAddress[], log: Logger): Parts {
  const history = createHistory()
  let last: Pick<Seen, 'timeMs' | 'replicas'> | undefined

  async function read(): Promise<void> {
    const timeMs = Date.now()
    const parts = await Promise.all(addresses.map(readPart))
    history.add({ timeMs, samples: parts.flatMap(({ samples }) => samples) })
    last = { timeMs, replicas: parts.flatMap(({ replicas }) => replicas) }
  }

  const loop = startLoop({
    kind: 'parts',
    log,
    pauseMs: everyMs,
    round: async () => {
      await read()
      return false
    },
  })
  return {
    seen: () => last && { ...last, trends: history.trends(), alerts: history.alerts() },
    read,
    close: () => loop.close(),
  }
}

async function readPart({ part, url }: PartAddress) {
  const found = await Promise.all((await addressesOf(url)).map((one) => readReplica(part, one)))
  const replicas = found.map(({ replica }) => replica)
  const replies = found.filter(({ samples }) => samples.length > 0).length
  const samples: PartSample[] = found.flatMap((one) =>
    one.samples.map((sample) => ({ ...sample, part })),
  )
  samples.push({ part, metric: repliesMetric, labels: {}, value: replies })
  if (replicas.length > 0) return { samples, replicas }
  return { samples, replicas: [unread(part, new URL(url).host, 'has no address')] }
}

/** The addresses behind a name; none where it is unknown. */
async function addressesOf(url: string): Promise<URL[]> {
  const { hostname, protocol, port } = new URL(url)
  try {
    const found = await lookup(hostname.replaceAll(/^\[|\]$/g, ''), { all: true })
    return found.map(({ address, family }) => {
      const host = family === 6 ? `[${address}]` : address
      return new URL(`${protocol}//${host}:${port}`)
    })
  } catch {
    return []
  }
}

async function readReplica(
  part: string,
  url: URL,
): Promise<{ replica: Replica; samples: Sample[] }> {
  try {
    const [metrics, ready] = await Promise.all([read('/metrics'), read('/readyz')])
    const samples = parseExposition(metrics, wanted)
    const value = (metric: string) => samples.find((sample) => sample.metric === metric)?.value
    const startS = value(facts.start)
    const replica = {
      part,
      address: url.host,
      problem: problemOf(ready),
      startMs: startS && startS * 1_000,
      memoryBytes: value(facts.memory),
      loopLagS: value(facts.lag),
    }
    return { replica, samples }
  } catch {
    return { replica: unread(part, url.host, 'does not answer'), samples: [] }
  }

  async function read(path: string): Promise<string> {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await fetch(new URL(path, url), { signal, redirect: 'error' })
    return await answer.text()
  }
}

/** What the answer of /readyz says is missing. Throws a SyntaxError where it is none. */
function problemOf(text: string): string {
  const { status, parts = {} } = JSON.parse(text) as {
    status: string
    parts?: Record<string, boolean>
  }
  const missing = Object.keys(parts).filter((name) => parts[name] === false)
  if (status === 'ready') return ''
  return missing.length === 0 ? status : `${status}: ${missing.join(', ')}`
}

function unread(part: string, address: string, problem: string): Replica {
  const none = { startMs: undefined, memoryBytes: undefined, loopLagS: undefined }
  return { part, address, problem, ...none }
}
