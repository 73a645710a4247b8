// Faults of single processes: killed, and frozen for shorter and longer than every lease and token.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../../test/support/eventually.ts'
import { freeze, freezeFamily } from '../../../test/support/freeze.ts'
import type { Random } from '../random.ts'
import type { System } from '../system/system.ts'
import type { Fault } from './fault.ts'

const services = ['payments', 'accounts', 'institution', 'quotes', 'billing', 'delivery']
/** Every process of ours that does work of payments. */
export const parts = ['gateway', ...services, 'simulator']
/** Leases of rows take at most 60 s, tokens between processes as long. */
const maxLeaseS = 60

/** The pid of a part, as soon as it runs: another fault may have killed it just now. */
async function pidOf({ mesh }: System, part: string): Promise<number> {
  const { pid } = await eventually(() => mesh.processes()[part] ?? false)
  return pid
}

/** Kills a process. */
export async function kill(system: System, part: string): Promise<void> {
  const pid = await pidOf(system, part)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Another fault has killed it in between.
  }
}

/** Freezes a process, with its children for PostgreSQL, and lets it go on after a time. */
export async function freezeFor(system: System, part: string, heldS: number): Promise<void> {
  const hold = part === 'postgres' ? freezeFamily : freeze
  // Another fault may kill it in between.
  const goOn = await eventually(() => hold(system.mesh.pid(part)))
  await sleep(heldS * 1_000)
  goOn()
}

function drawFreeze(random: Random, minS: number, maxS: number) {
  const part = random.pick(parts)
  const heldS = random.whole(minS, maxS)
  return {
    title: `freeze ${part} ${heldS} s`,
    heldS,
    holds: part,
    inject: (system: System) => freezeFor(system, part, heldS),
  }
}

export const processFaults: Fault[] = [
  {
    name: 'kill',
    what: 'A process is killed; the launcher starts it again.',
    weight: 10,
    limitS: 20,
    draw(random) {
      const part = random.pick(parts)
      return {
        title: `kill ${part}`,
        heldS: 0,
        inject: (system) => kill(system, part),
      }
    },
  },
  {
    name: 'kill-twice',
    what: 'A process is killed, and again while it recovers.',
    weight: 3,
    limitS: 25,
    draw(random) {
      const part = random.pick(parts)
      const heldS = random.whole(1, 4)
      return {
        title: `kill ${part} twice in ${heldS} s`,
        heldS,
        async inject(system) {
          await kill(system, part)
          await sleep(heldS * 1_000)
          await kill(system, part)
        },
      }
    },
  },
  {
    name: 'freeze',
    what: 'A process stands still with its connections open, for 1 to 12 s.',
    weight: 5,
    limitS: 15,
    draw: (random) => drawFreeze(random, 1, 12),
  },
  {
    name: 'freeze-long',
    what: `A process stands still for longer than every lease and token, ${maxLeaseS + 5} to ${maxLeaseS + 15} s.`,
    weight: 1,
    limitS: 15,
    draw: (random) => drawFreeze(random, maxLeaseS + 5, maxLeaseS + 15),
  },
  {
    name: 'kill-all-services',
    what: 'All processes of ours are killed at once.',
    weight: 1,
    limitS: 40,
    draw: () => ({
      title: 'kill all services',
      heldS: 0,
      async inject(system) {
        await Promise.all(parts.map((part) => kill(system, part)))
      },
    }),
  },
  {
    name: 'machine-lost',
    isAlone: true,
    what: 'Everything is killed at once, PostgreSQL and NATS too, and started again.',
    weight: 1,
    limitS: 60,
    draw: () => ({
      title: 'machine lost',
      heldS: 0,
      async inject({ mesh }) {
        await mesh.kill()
        await mesh.start()
      },
    }),
  },
]
