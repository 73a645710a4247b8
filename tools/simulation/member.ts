// A process of a run with its database: it starts, ends and starts again.
import { type Database, openDatabase } from '#platform/db/db.ts'
import type { SchemaOwner } from '#platform/db/schemas.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Process } from './engine/scheduler.ts'
import type { Member } from './faults.ts'
import { quietLog } from './log.ts'
import { createPool, type SimulatedPool } from './postgres/pool.ts'
import type { Simulation } from './simulation.ts'

/** Dependencies of the code of a process. */
export type Parts = { process: Process; db: Database; log: Logger }

/** Starts a process of a service. `begin` runs in each incarnation; `served` is what the latest one returned. */
export function startMember<T>(
  { scheduler, server, network, skewMs }: Simulation,
  { name, service }: { name: string; service: SchemaOwner },
  begin: (parts: Parts) => T,
): Member & { served(): T } {
  let connections: SimulatedPool
  let served: T

  function start(): Process {
    const process = scheduler.start(name, skewMs())
    const log = quietLog(scheduler, process)
    connections = createPool({ scheduler, network, server, service, process })
    const { pool } = connections
    const run = () => {
      scheduler.record(process.name, 'starts')
      const db = openDatabase({ url: `postgres://simulation/${service}`, service, log, pool })
      served = begin({ process, db, log })
    }
    scheduler.after(0, run, process)
    return process
  }

  const member = {
    process: start(),
    crash: () => connections.abandon(),
    cut: (forMs: number) => connections.cut(forMs),
    start() {
      member.process = start()
    },
    served: () => served,
  }
  return member
}
