// A process that keeps some connections busy and counts the answers; kept cheap, since it shares the machine.
import net from 'node:net'
import type { RequestShape } from './requests.ts'

/** What to send, and for how long. */
export type LoadJob = {
  port: number
  shape: RequestShape
  connections: number
  warmUp: WarmUp
  measuredMs: number
  /** Ids to ask for; none: each request gets a new one. */
  ids: string[]
}

/** Code is compiled by how often it runs, so the count matters; the time is what it may take at most. */
export type WarmUp = { answers: number; maxMs: number }

/** What came back within the measured time. */
export type LoadResult = {
  answered: number
  /** Answers of another status than the request's good one, over the whole run. */
  refused: number
  /** The beginning of the first of them. */
  firstRefusal: string
  /** All good answers, with those of the warm-up. */
  accepted: number
  seconds: number
  p50Ms: number
  p99Ms: number
}

/** The messages of the process: the measured time has begun, has ended, and the result. */
export type LoadMessage =
  | { kind: 'begin' }
  | { kind: 'end' }
  | { kind: 'result'; result: LoadResult }

const headEnd = Buffer.from('\r\n\r\n')
const lengthHeader = /\r\ncontent-length: *(\d+)/i

type Counts = Pick<LoadResult, 'accepted' | 'refused' | 'firstRefusal'> & {
  latenciesMs: number[]
  isMeasuring: boolean
}

process.once('message', (job: LoadJob) => void answer(job))

async function answer(job: LoadJob): Promise<void> {
  notifyParent({ kind: 'result', result: await run(job) })
  process.disconnect()
}

function notifyParent(message: LoadMessage): void {
  process.send?.(message)
}

async function run(job: LoadJob): Promise<LoadResult> {
  const counts: Counts = {
    accepted: 0,
    refused: 0,
    firstRefusal: '',
    latenciesMs: [],
    isMeasuring: false,
  }
  const stopping = new AbortController()
  const nextId = idsOf(job)
  const connections = Array.from({ length: job.connections }, () =>
    keepBusy(job, nextId, counts, stopping.signal),
  )
  const warmUntilMs = performance.now() + job.warmUp.maxMs
  while (counts.accepted < job.warmUp.answers && performance.now() < warmUntilMs) await sleep(20)
  counts.isMeasuring = true
  notifyParent({ kind: 'begin' })
  const beganMs = performance.now()
  await sleep(job.measuredMs)
  counts.isMeasuring = false
  notifyParent({ kind: 'end' })
  const seconds = (performance.now() - beganMs) / 1_000
  stopping.abort()
  await Promise.all(connections)
  const sorted = Float64Array.from(counts.latenciesMs).toSorted()
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  const { accepted, refused, firstRefusal } = counts
  return {
    answered: sorted.length,
    accepted,
    refused,
    firstRefusal,
    seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function idsOf({ ids, shape }: LoadJob): () => string {
  let count = 0
  if (ids.length > 0) return () => ids[count++ % ids.length] ?? ''
  const run = `b${process.pid.toString(36)}${Date.now().toString(36)}-`
  return () => run + (count++).toString(36).padStart(shape.idLength - run.length, '0')
}

/** One connection: a request, its answer, the next request. */
function keepBusy(
  { port, shape }: LoadJob,
  nextId: () => string,
  counts: Counts,
  stopping: AbortSignal,
): Promise<void> {
  const request = Buffer.from(shape.before + ' '.repeat(shape.idLength) + shape.after)
  const idAt = Buffer.byteLength(shape.before)
  const accepted = Buffer.from(`HTTP/1.1 ${shape.status} `)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  let sentMs = 0
  let pending: Buffer = Buffer.alloc(0)

  function send(): void {
    if (stopping.aborted) {
      socket.end()
      return
    }
    request.write(nextId(), idAt, 'latin1')
    sentMs = performance.now()
    // The socket may keep what it is given, so it gets a copy.
    socket.write(Buffer.from(request))
  }

  socket.on('connect', send)
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    if (!isWhole(pending)) return
    if (pending.subarray(0, accepted.length).equals(accepted)) counts.accepted += 1
    else {
      counts.refused += 1
      counts.firstRefusal ||= pending.toString('utf8', 0, 1_000)
    }
    if (counts.isMeasuring) counts.latenciesMs.push(performance.now() - sentMs)
    pending = Buffer.alloc(0)
    send()
  })
  socket.on('close', () => resolve())
  socket.on('error', reject)
  return promise
}

function isWhole(answer: Buffer): boolean {
  const end = answer.indexOf(headEnd)
  if (end < 0) return false
  const length = lengthHeader.exec(answer.toString('latin1', 0, end))?.[1]
  if (length === undefined) throw new Error('the response has no content-length')
  return answer.length >= end + headEnd.length + Number(length)
}
