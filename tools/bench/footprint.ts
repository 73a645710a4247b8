// Measures how long `npm start` takes to be ready, and how much memory the idle mesh holds.
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readPssMb, waitForQuiet } from './load/processes.ts'
import { emptyFolder, launchMesh, readMesh, stopLauncher } from './systems.ts'

/** What `npm start` costs. */
export type Footprint = {
  /** On an empty folder. */
  firstReadyMs: number
  /** On the same folder again. */
  secondReadyMs: number
  /** By part; `launcher` is npm and what it runs. */
  pssMb: Record<string, number>
}

const idleMs = 20_000

/** Starts twice and reads the memory of the second start after a while. */
export async function measureFootprint(say: (line: string) => void): Promise<Footprint> {
  const dataDir = emptyFolder()
  const command = ['npm', 'start']
  try {
    await waitForQuiet(60_000)
    const first = await launchMesh(command, dataDir)
    say(`first start: ready in ${first.readyMs.toFixed(0)} ms`)
    await stopLauncher(first)
    const second = await launchMesh(command, dataDir)
    say(`second start: ready in ${second.readyMs.toFixed(0)} ms`)
    await sleep(idleMs)
    const { pids } = readMesh(dataDir)
    const names = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [pid, name]))
    const pssMb = readPssMb(second.launcher.pid, names)
    await stopLauncher(second)
    return { firstReadyMs: first.readyMs, secondReadyMs: second.readyMs, pssMb }
  } finally {
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
}
