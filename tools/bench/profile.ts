// `npm run bench:profile -- create payments`: what the functions of some processes cost under a load.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createLoad, onSystem, statusLoad } from './compare.ts'
import { quoteLoad } from './compare-quotes.ts'
import { sessionLoad } from './compare-sessions.ts'
import type { Measured } from './load/measure.ts'
import { type System, startMesh } from './systems.ts'

const loads: Record<string, (system: System) => Promise<Measured>> = {
  create: createLoad,
  status: statusLoad,
  quote: quoteLoad,
  session: sessionLoad,
}
const rows = 40
/** Of a load this much is looked at: its end, when code has been compiled. */
const lastMicros = 8e6

/** What V8 writes; times in microseconds. */
type Profile = {
  nodes: Array<{
    id: number
    callFrame: { functionName: string; url: string; lineNumber: number }
    hitCount?: number
    children?: number[]
  }>
  samples: number[]
  timeDeltas: number[]
  /** On the clock of `process.hrtime`, as are the times of the window. */
  startTime: number
}

type Window = { beginMicros: number; endMicros: number }

const [what = '', names = 'gateway'] = process.argv.slice(2)
const load = loads[what]
if (load === undefined) {
  console.error(`unknown: ${what}; there are ${Object.keys(loads).join(', ')}`)
  process.exit(2)
}
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-profile-'))
const options = names.split(',').map((name) => {
  return [
    name,
    `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${folder} --cpu-prof-name=${name}.cpuprofile`,
  ]
})
const env = { BENCH_NODE_OPTIONS: JSON.stringify(Object.fromEntries(options)) }
const { measured, window } = await onSystem(
  () => startMesh(env),
  async (system) => {
    const made = await load(system)
    const endMicros = Number(process.hrtime.bigint() / 1_000n)
    return { measured: made, window: { beginMicros: endMicros - lastMicros, endMicros } }
  },
)
console.log(`${measured.perSecond.toFixed(0)}/s`, measured.cpuMicros)
for (const name of names.split(',')) {
  const file = path.join(folder, `${name}.cpuprofile`)
  show(name, JSON.parse(fs.readFileSync(file, 'utf8')) as Profile, window)
}
console.log(`profiles: ${folder}`)

/** The functions that most time is spent in, by their own time, and the files that most is spent in. */
function show(name: string, profile: Profile, { beginMicros, endMicros }: Window): void {
  const byFunction = new Map<string, number>()
  const byFile = new Map<string, number>()
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  let busyMicros = 0
  let atMicros = profile.startTime
  profile.samples.forEach((sample, index) => {
    const frame = frames.get(sample)
    const micros = profile.timeDeltas[index] ?? 0
    atMicros += micros
    if (atMicros < beginMicros || atMicros > endMicros) return
    if (frame === undefined || /^\((idle|root)\)$/.test(frame.functionName)) return
    busyMicros += micros
    const file = shortened(frame.url)
    const at = `${frame.functionName || '(anonymous)'} ${file}:${frame.lineNumber + 1}`
    byFunction.set(at, (byFunction.get(at) ?? 0) + micros)
    byFile.set(file, (byFile.get(file) ?? 0) + micros)
  })
  for (const costs of [byFunction, byFile]) {
    console.log(`\n${name}: ${(busyMicros / 1e6).toFixed(1)} s busy`)
    const sorted = [...costs].toSorted(([, a], [, b]) => b - a).slice(0, rows)
    for (const [at, micros] of sorted) {
      console.log(`${((micros / busyMicros) * 100).toFixed(1).padStart(5)} %  ${at}`)
    }
  }
}

function shortened(url: string): string {
  return url
    .replace(/^.*\/node_modules\//, '')
    .replace(/^file:\/\/.*?\/(?=[\w-]+\/[^/]*\.ts|\w)/, '')
}
