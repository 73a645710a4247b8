// `npm run bench:files`: the files of ours of which gateway and payments run a function while they answer one create.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBody, edgeHeaders } from './load/requests.ts'
import { startMesh } from './systems.ts'

const root = path.resolve(import.meta.dirname, '../..')
const inspectorPorts = { gateway: 17_195, payments: 17_196 }
const warmUps = 300
/** Timers of the processes run files that no create needs: a file counts that runs in each of these creates. */
const counted = 5
/** After the answer the event is published and the charge announced. */
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

/** Files of ours that ran since the last call, by their path in the tree. */
function filesOf({ result: { result = [] } }: InspectorReply): Set<string> {
  const ran = result.filter(({ functions }) => functions.some((one) => one.ranges[0]?.count))
  const paths = ran.map(({ url }) => path.relative(root, url.replace('file://', '')))
  return new Set(paths.filter((file) => file.endsWith('.ts')))
}

const options = Object.entries(inspectorPorts).map(([name, port]) => [
  name,
  `--inspect=127.0.0.1:${port}`,
])
const system = await startMesh({ BENCH_NODE_OPTIONS: JSON.stringify(Object.fromEntries(options)) })
try {
  const { target } = system
  const create = async (id: string): Promise<void> => {
    const url = `http://127.0.0.1:${target.port}/payments/request?version=2024-10-01`
    const headers = { ...edgeHeaders(target), 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: createBody(target, id) })
    if (answer.status !== 200) throw new Error(await answer.text())
    await answer.arrayBuffer()
  }
  const inspected = await Promise.all(Object.values(inspectorPorts).map(inspector))
  for (let n = 0; n < warmUps; n += 1) await create(`warm-${n}`)
  for (const send of inspected) {
    await send('enable')
    await send('startPreciseCoverage', { callCount: true, detailed: false })
  }
  const names = Object.keys(inspectorPorts)
  let always: Set<string> | undefined
  for (let n = 0; n < counted; n += 1) {
    await sleep(pauseMs)
    for (const send of inspected) await send('takePreciseCoverage')
    await create(`counted-${n}`)
    await sleep(pauseMs)
    const taken = await Promise.all(inspected.map((send) => send('takePreciseCoverage')))
    const ran = new Set(
      taken.flatMap((answer, index) =>
        [...filesOf(answer)].map((file) => `${file} ${names[index]}`),
      ),
    )
    always = new Set([...ran].filter((file) => always?.has(file) ?? true))
  }
  const files = new Set([...(always ?? [])].map((line) => line.split(' ')[0] ?? ''))
  for (const file of [...files].toSorted()) {
    const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n').length
    const where = names.filter((name) => always?.has(`${file} ${name}`)).join(', ')
    console.log(`${String(lines).padStart(5)}  ${file}  ${where}`)
  }
  console.log(`${files.size} files`)
} finally {
  await system.stop()
}
