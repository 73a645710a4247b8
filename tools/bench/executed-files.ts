// `npm run bench:files`: the files of ours of which a process runs a function for one create, from its arrival to the end of its answer, and
// those that run right after it.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processNames } from '../../deploy/local/process/parts.ts'
import { createBody, edgeHeaders } from './load/requests.ts'
import { startMesh } from './systems.ts'

const root = path.resolve(import.meta.dirname, '../..')
const firstInspectorPort = 17_195
const warmUps = 300
const counted = 12
/** Timers of the processes run files too: a file counts if it runs in at least this many creates, and in fewer pauses of the same length. */
const minCreates = 9
/** After the answer the event is published and consumed, and the charge announced to the simulator. */
const pauseMs = 300

type Coverage = { url: string; functions: { ranges: { count: number }[] }[] }
type InspectorReply = { id: number; result: { result?: Coverage[] } }

/** Sends commands to the inspector of a process. */
async function inspector(
  port: number,
): Promise<(method: string, params?: object) => Promise<InspectorReply>> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`)
  const [page] = (await response.json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(page?.webSocketDebuggerUrl ?? '')
  const pending = new Map<number, (answer: InspectorReply) => void>()
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as InspectorReply
    pending.get(answer.id)?.(answer)
  })
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
  let id = 0
  return async (method, params = {}) => {
    id += 1
    socket.send(JSON.stringify({ id, method: `Profiler.${method}`, params }))
    return await new Promise((resolve) => pending.set(id, resolve))
  }
}

/** What ran since the last call, as a file's path in the tree and the process. */
function filesOf({ result: { result = [] } }: InspectorReply, process: string): string[] {
  const ran = result.filter(({ functions }) => functions.some((one) => one.ranges[0]?.count))
  const paths = ran.map(({ url }) => path.relative(root, url.replace('file://', '')))
  const ours = paths.filter((file) => file.endsWith('.ts') && !file.startsWith('node_modules'))
  return ours.map((file) => `${file} ${process}`)
}

function isMostly(intervals: readonly Set<string>[], one: string): boolean {
  return intervals.filter((ran) => ran.has(one)).length >= minCreates
}

/** What ran in most of some intervals, and not in most of those without a request. */
function ranForRequest(intervals: readonly Set<string>[], idle: readonly Set<string>[]): string[] {
  const all = new Set(intervals.flatMap((ran) => [...ran]))
  return [...all].filter((one) => isMostly(intervals, one) && !isMostly(idle, one)).toSorted()
}

/** Prints how many files ran, and each with its lines and processes. */
function print(title: string, ran: readonly string[]): void {
  const byFile = Map.groupBy(ran, (one) => one.split(' ')[0] ?? '')
  console.log(`${byFile.size} files ${title}:`)
  for (const [file, uses] of byFile) {
    const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n').length
    const where = uses.map((one) => one.split(' ')[1]).join(', ')
    console.log(`${String(lines).padStart(5)}  ${file}  ${where}`)
  }
}

const ports = new Map(processNames.map((name, index) => [name, firstInspectorPort + index]))
const options = [...ports].map(([name, port]) => [name, `--inspect=127.0.0.1:${port}`])
const system = await startMesh({
  BENCH_NODE_OPTIONS: JSON.stringify(Object.fromEntries(options)),
  // Limited as in production, but never reached.
  RATE_LIMIT_RPS: '10000',
})
try {
  const { target } = system
  const create = async (id: string): Promise<void> => {
    const url = `http://127.0.0.1:${target.port}/payments/request?version=2024-10-01`
    const headers = { ...edgeHeaders(target), 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: createBody(target, id) })
    if (answer.status !== 200) throw new Error(await answer.text())
    await answer.arrayBuffer()
  }
  const inspected = await Promise.all(
    [...ports].map(async ([name, port]) => ({ name, send: await inspector(port) })),
  )
  const take = async (): Promise<Set<string>> => {
    const taken = inspected.map(async ({ name, send }) =>
      filesOf(await send('takePreciseCoverage'), name),
    )
    return new Set((await Promise.all(taken)).flat())
  }
  for (let n = 0; n < warmUps; n += 1) await create(`warm-${n}`)
  for (const { send } of inspected) {
    await send('enable')
    await send('startPreciseCoverage', { callCount: true, detailed: false })
  }
  const during: Set<string>[] = []
  const after: Set<string>[] = []
  const idleDuring: Set<string>[] = []
  const idleAfter: Set<string>[] = []
  for (let n = 0; n < counted; n += 1) {
    // The caches of keys hold for five seconds.
    await create(`kept-${n}`)
    await sleep(pauseMs)
    await take()
    const beginMs = performance.now()
    await create(`counted-${n}`)
    const elapsedMs = performance.now() - beginMs
    during.push(await take())
    await sleep(pauseMs)
    after.push(await take())
    await sleep(elapsedMs)
    idleDuring.push(await take())
    await sleep(pauseMs)
    idleAfter.push(await take())
  }
  const answering = ranForRequest(during, idleDuring)
  const known = new Set(answering.map((one) => one.split(' ')[0]))
  const later = ranForRequest(after, idleAfter).filter((one) => !known.has(one.split(' ')[0]))
  print('until the end of the answer', answering)
  print('more after it', later)
} finally {
  await system.stop()
}
