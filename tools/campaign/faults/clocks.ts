// Faults of clocks: that of one process is ahead of all others, or behind, by less and by more than tokens between processes allow.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { System } from '../system/system.ts'
import type { Fault } from './fault.ts'
import { parts } from './processes.ts'

type ClockFault = { name: string; what: string; minOffsetS: number; maxOffsetS: number }

function fault({ name, what, minOffsetS, maxOffsetS }: ClockFault): Fault {
  return {
    name,
    what,
    weight: 2,
    limitS: 15,
    draw(random: Random) {
      const part = random.pick(parts)
      const offsetS = random.whole(minOffsetS, maxOffsetS) * random.pick([-1, 1])
      const heldS = random.whole(5, 20)
      const words = `${Math.abs(offsetS)} s ${offsetS < 0 ? 'behind' : 'ahead'}`
      return {
        title: `clock of ${part} ${words} for ${heldS} s`,
        heldS,
        holds: `clock of ${part}`,
        async inject({ mesh }: System) {
          // The processes of a campaign read it: ../system/moved-clock.mjs.
          const file = path.join(mesh.dataDir, `clock-${part}`)
          fs.writeFileSync(file, String(offsetS * 1_000))
          await sleep(heldS * 1_000)
          fs.rmSync(file, { force: true })
        },
      }
    },
  }
}

export const clockFaults: Fault[] = [
  {
    name: 'clock-off',
    what: 'The clock of a process is 1 to 4 s ahead or behind, which tokens between processes allow.',
    minOffsetS: 1,
    maxOffsetS: 4,
  },
  {
    name: 'clock-far-off',
    what: 'The clock of a process is 10 s to an hour ahead or behind: others refuse its tokens.',
    minOffsetS: 10,
    maxOffsetS: 3_600,
  },
].map(fault)
