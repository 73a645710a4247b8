// Faults of PostgreSQL, NATS and disks.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { freeze } from '../../../test/support/freeze.ts'
import type { Random } from '../random.ts'
import type { System } from '../system/system.ts'
import type { Fault } from './fault.ts'
import { freezeFor, kill } from './processes.ts'

const drawFreeze = (part: string, random: Random, minS: number, maxS: number) => {
  const heldS = random.whole(minS, maxS)
  return {
    title: `freeze ${part} ${heldS} s`,
    heldS,
    holds: part,
    inject: (system: System) => freezeFor(system, part, heldS),
  }
}

/** Everything that NATS has stored is gone when it starts again. If another fault kills it meanwhile, its next process loses it. */
async function wipeNats({ mesh }: System): Promise<void> {
  await eventually(async () => {
    const pid = mesh.pid('nats')
    // Frozen first, so that it does not write while its store is taken away.
    await freeze(pid)
    const store = path.join(mesh.dataDir, 'nats')
    for (const name of fs.readdirSync(store))
      if (fs.statSync(path.join(store, name)).isDirectory())
        fs.rmSync(path.join(store, name), { recursive: true, force: true })
    return process.kill(pid, 'SIGKILL')
  })
}

/** A consumer stands still, and half of that time later the broker loses what it has not taken in. */
function drawBehind(random: Random) {
  const part = random.pick(['delivery', 'accounts'])
  const heldS = random.whole(4, 10)
  return {
    title: `freeze ${part} ${heldS} s, nats wiped meanwhile`,
    heldS,
    holds: part,
    async inject(system: System) {
      const frozen = freezeFor(system, part, heldS)
      await sleep(heldS * 500)
      await wipeNats(system)
      await frozen
    },
  }
}

/** Ends every connection to the database, as a fail-over or an operator does. */
async function endConnections({ mesh }: System): Promise<void> {
  const client = new Client({ connectionString: mesh.databaseUrl() })
  // The server may end this one too.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    )
  } catch {
    // PostgreSQL is away, by a fault beside this one: there is no connection to end.
  } finally {
    await client.end().catch(() => undefined)
  }
}

function drawFull(random: Random, which: 'whole' | 'nats') {
  const heldS = random.whole(3, 12)
  return {
    title: `${which === 'nats' ? 'disk of NATS' : 'disk of everything'} full ${heldS} s`,
    heldS,
    holds: 'disks',
    async inject({ disks }: System) {
      const full = which === 'nats' ? [disks?.nats] : [disks?.nats, disks?.whole]
      for (const disk of full) disk?.fill()
      await sleep(heldS * 1_000)
      for (const disk of full) disk?.clear()
    },
  }
}

export const storeFaults: Fault[] = [
  {
    name: 'postgres-kill',
    what: 'The PostgreSQL server is killed and recovers from its log.',
    weight: 3,
    limitS: 30,
    draw: () => ({
      title: 'kill postgres',
      heldS: 0,
      inject: (system) => kill(system, 'postgres'),
    }),
  },
  {
    name: 'postgres-freeze',
    what: 'PostgreSQL and all its backends stand still for 1 to 15 s.',
    weight: 3,
    limitS: 20,
    draw: (random) => drawFreeze('postgres', random, 1, 15),
  },
  {
    name: 'postgres-freeze-long',
    what: 'PostgreSQL stands still for 65 to 75 s.',
    weight: 1,
    limitS: 20,
    draw: (random) => drawFreeze('postgres', random, 65, 75),
  },
  {
    name: 'connections-ended',
    what: 'The server ends every connection to the database.',
    weight: 3,
    limitS: 10,
    draw: () => ({ title: 'end all connections', heldS: 0, inject: endConnections }),
  },
  {
    name: 'nats-kill',
    what: 'The NATS server is killed.',
    weight: 3,
    limitS: 5,
    draw: () => ({
      title: 'kill nats',
      heldS: 0,
      inject: (system) => kill(system, 'nats'),
    }),
  },
  {
    name: 'nats-freeze',
    what: 'The NATS server stands still for 1 to 20 s.',
    weight: 2,
    limitS: 5,
    draw: (random) => drawFreeze('nats', random, 1, 20),
  },
  {
    name: 'nats-wiped',
    what: 'The NATS server is killed, and its store is gone: the stream, the consumers and every message.',
    weight: 3,
    limitS: 5,
    draw: () => ({ title: 'nats wiped', heldS: 0, inject: wipeNats }),
  },
  {
    name: 'nats-behind',
    what: 'Delivery or accounts stands still for 4 to 10 s, and NATS loses what they have not taken in.',
    weight: 2,
    limitS: 15,
    draw: drawBehind,
  },
  {
    name: 'nats-disk-full',
    what: 'The disk of NATS is full for 3 to 12 s.',
    weight: 1,
    limitS: 5,
    needs: 'disks',
    draw: (random) => drawFull(random, 'nats'),
  },
  {
    name: 'disk-full',
    what: 'The disk of PostgreSQL, NATS and all logs is full for 3 to 12 s.',
    weight: 1,
    limitS: 40,
    needs: 'disks',
    draw: (random) => drawFull(random, 'whole'),
  },
]
