// Puts load on a system from a process of its own and reads what came back and what it cost; it must not start a system.
import { fork } from 'node:child_process'
import path from 'node:path'
import type { LoadJob, LoadNews, LoadResult } from './load.ts'
import { type CpuSeconds, cpuPerRequest, readCpu } from './processes.ts'
import type { System } from './systems.ts'

/** A measured window. */
export type Measured = LoadResult & {
  perSecond: number
  /** Microseconds of CPU per answered request, by process. */
  cpuMicros: CpuSeconds
}

/** Connections that the load keeps busy. */
export const connections = 64
const loadProgram = path.join(import.meta.dirname, 'load.ts')

/** Runs a load. Throws when any answer was not 200: a refusal is cheaper than an answer. */
export async function measure(
  system: Pick<System, 'pids' | 'target'>,
  job: Pick<LoadJob, 'shape' | 'ids' | 'warmUp' | 'measuredMs'>,
): Promise<Measured> {
  const child = fork(loadProgram)
  const pids = { ...system.pids, load: child.pid ?? 0 }
  const { promise, resolve, reject } = Promise.withResolvers<Measured>()
  let before: CpuSeconds = {}
  let after: CpuSeconds = {}
  child.on('message', (news: LoadNews) => {
    if (news.kind === 'begin') before = readCpu(pids)
    else if (news.kind === 'end') after = readCpu(pids)
    else {
      const { result } = news
      const { refused, firstRefusal } = result
      if (refused > 0) reject(new Error(`${refused} requests were refused:\n${firstRefusal}`))
      resolve({
        ...result,
        perSecond: result.answered / result.seconds,
        cpuMicros: cpuPerRequest(before, after, result.answered),
      })
    }
  })
  child.once('exit', (code) => reject(new Error(`the load ended early with exit code ${code}`)))
  child.send({ ...job, connections, port: system.target.port } satisfies LoadJob)
  return await promise
}
