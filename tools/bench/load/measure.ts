// Runs a load on a system from a child process and measures the answers and their cost.
import { fork } from 'node:child_process'
import path from 'node:path'
import type { System } from '../systems.ts'
import type { LoadJob, LoadMessage, LoadResult } from './load.ts'
import { type CpuSeconds, cpuPerRequest, readCpu, readMachine } from './processes.ts'

/** A measured window. */
export type Measured = LoadResult & {
  perSecond: number
  /** Microseconds of CPU per answered request, by process. */
  cpuMicros: CpuSeconds
  /** Share of the machine that went to processes which have no part in this. */
  othersShare: number
}

/** Connections that the load keeps busy. */
export const connections = 64
const loadProgram = path.join(import.meta.dirname, 'load.ts')

/** Runs a load. Throws when any answer was not a good one: a refusal is cheaper than an answer. */
export async function measure(
  system: Pick<System, 'pids' | 'target'>,
  job: Pick<LoadJob, 'shape' | 'ids' | 'warmUp' | 'measuredMs'>,
): Promise<Measured> {
  const child = fork(loadProgram)
  const pids = { ...system.pids, load: child.pid ?? 0 }
  const { promise, resolve, reject } = Promise.withResolvers<Measured>()
  const look = () => ({ cpu: readCpu(pids), machine: readMachine() })
  let before = look()
  let after = before
  child.on('message', (message: LoadMessage) => {
    if (message.kind === 'begin') before = look()
    else if (message.kind === 'end') after = look()
    else {
      const { result } = message
      const { refused, firstRefusal } = result
      if (refused > 0) reject(new Error(`${refused} requests were refused:\n${firstRefusal}`))
      resolve({
        ...result,
        perSecond: result.answered / result.seconds,
        cpuMicros: cpuPerRequest(before.cpu, after.cpu, result.answered),
        othersShare: othersShare(before, after),
      })
    }
  })
  child.once('exit', (code) => reject(new Error(`the load ended early with exit code ${code}`)))
  child.send({ ...job, connections, port: system.target.port } satisfies LoadJob)
  return await promise
}

type Look = { cpu: CpuSeconds; machine: { busyS: number; wholeS: number } }

function othersShare(before: Look, after: Look): number {
  const ours = sum(after.cpu) - sum(before.cpu)
  const busy = after.machine.busyS - before.machine.busyS
  return Math.max(0, busy - ours) / (after.machine.wholeS - before.machine.wholeS)
}

function sum(cpu: CpuSeconds): number {
  return Object.values(cpu).reduce((all, one) => all + one, 0)
}
