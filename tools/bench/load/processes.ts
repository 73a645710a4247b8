// Reads the CPU and memory that processes have used from /proc (Linux).
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const ticksPerS = 100

/** CPU seconds by process name. A name may stand for a tree of processes. */
export type CpuSeconds = Record<string, number>

/** What named processes have used so far, each with its descendants, also those that have ended. */
export function readCpu(pids: Record<string, number>): CpuSeconds {
  return sumTrees(pids, cpuOf)
}

/** Microseconds of CPU for each of `count` requests, by process. */
export function cpuPerRequest(before: CpuSeconds, after: CpuSeconds, count: number): CpuSeconds {
  const entries = Object.entries(after).map(([name, seconds]) => {
    const used = seconds - (before[name] ?? 0)
    return [name, (used / count) * 1e6] as const
  })
  return Object.fromEntries(entries)
}

/** CPU seconds of all processes on the machine so far, and all that there were. */
export function readMachine(): { busyS: number; wholeS: number } {
  const [line = ''] = fs.readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/\s+/).slice(1, 9).map(Number)
  const [user = 0, nice = 0, system = 0] = ticks
  const whole = ticks.reduce((sum, value) => sum + value, 0)
  return { busyS: (user + nice + system) / ticksPerS, wholeS: whole / ticksPerS }
}

/** Waits until at most `maxShare` of the machine's CPU is busy, for at most `maxMs`. */
export async function waitForQuiet(maxMs: number, maxShare = 0.1): Promise<void> {
  const untilMs = performance.now() + maxMs
  for (let quiet = 0; quiet < 3 && performance.now() < untilMs; ) {
    const before = readMachine()
    await sleep(1_000)
    const after = readMachine()
    const share = (after.busyS - before.busyS) / (after.wholeS - before.wholeS)
    quiet = share < maxShare ? quiet + 1 : 0
  }
}

/** Proportional set size in MB of a process and all its descendants, by what each is. */
export function readPssMb(rootPid: number, names: Record<number, string>): Record<string, number> {
  const children = childrenByParent()
  const sizes: Record<string, number> = {}
  const visit = (pid: number, inherited: string): void => {
    const name = names[pid] ?? inherited
    sizes[name] = (sizes[name] ?? 0) + pssMbOf(pid)
    for (const child of children.get(pid) ?? []) visit(child, name)
  }
  visit(rootPid, 'launcher')
  return sizes
}

/** Proportional set size in MB of each of these with its descendants. */
export function readTreePssMb(pids: Record<string, number>): Record<string, number> {
  return sumTrees(pids, pssMbOf)
}

/** Resident memory in MB of each of these with its descendants; what they share counts for each. */
export function readTreeRssMb(pids: Record<string, number>): Record<string, number> {
  return sumTrees(pids, readRssMb)
}

/** Resident memory of one process in MB. */
export function readRssMb(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB/m.exec(readOrNothing(`/proc/${pid}/status`) ?? '')
  return Number(found?.[1] ?? 0) / 1024
}

function sumTrees(
  pids: Record<string, number>,
  of: (pid: number) => number,
): Record<string, number> {
  const children = childrenByParent()
  const entries = Object.entries(pids).map(([name, pid]) => {
    const values = treeOf(pid, children).map(of)
    return [name, values.reduce((sum, value) => sum + value, 0)] as const
  })
  return Object.fromEntries(entries)
}

function treeOf(pid: number, children: Map<number, number[]>): number[] {
  return [pid, ...(children.get(pid) ?? []).flatMap((child) => treeOf(child, children))]
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>()
  for (const entry of fs.readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid)) continue
    const parent = Number(statOf(pid)?.[1])
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [pid])
    else siblings.push(pid)
  }
  return children
}

/** utime, stime and, of children that have ended and been waited for, cutime and cstime. */
function cpuOf(pid: number): number {
  const fields = statOf(pid)
  if (fields === undefined) return 0
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) / ticksPerS
}

/** Fields of /proc/<pid>/stat from the state on; the name before them may hold anything. */
function statOf(pid: number): string[] | undefined {
  const text = readOrNothing(`/proc/${pid}/stat`)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}

function pssMbOf(pid: number): number {
  const found = /^Pss:\s+(\d+) kB/m.exec(readOrNothing(`/proc/${pid}/smaps_rollup`) ?? '')
  return Number(found?.[1] ?? 0) / 1024
}

/** A process may end between the look at the folder and the look at its file. */
function readOrNothing(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
