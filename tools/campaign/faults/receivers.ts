// Faults of the merchant's servers for pushes: the API must not notice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Behaviour } from '../load/receivers.ts'
import type { Random } from '../random.ts'
import type { System } from '../system/system.ts'
import type { Fault } from './fault.ts'

function drawn(
  random: Random,
  words: string,
  during: (system: System, index: number) => Promise<() => Promise<void>>,
) {
  const index = random.whole(0, 1)
  const heldS = random.whole(3, 25)
  return {
    title: `receiver ${index + 1} ${words} ${heldS} s`,
    heldS,
    holds: `receiver ${index + 1}`,
    async inject(system: System) {
      const restore = await during(system, index)
      await sleep(heldS * 1_000)
      await restore()
    },
  }
}

function misbehaves(name: string, what: string, behaviour: Behaviour): Fault {
  return {
    name,
    what,
    weight: 2,
    limitS: 0,
    draw: (random) =>
      drawn(random, behaviour, async ({ receivers }, index) => {
        const receiver = receivers.all[index]
        receiver?.behave(behaviour)
        return async () => receiver?.behave('accepts')
      }),
  }
}

export const receiverFaults: Fault[] = [
  misbehaves('receiver-fails', 'A receiver answers 500, 502, 503, 429 and 404.', 'fails'),
  misbehaves('receiver-hangs', 'A receiver takes pushes and never answers.', 'hangs'),
  misbehaves(
    'receiver-lies',
    'A receiver redirects, breaks off, talks no HTTP, or sends a body without end.',
    'lies',
  ),
  {
    name: 'receiver-dies',
    what: 'A receiver refuses connections.',
    weight: 2,
    limitS: 0,
    draw: (random) =>
      drawn(random, 'dead', async ({ receivers }, index) => {
        const receiver = receivers.all[index]
        await receiver?.die()
        return async () => receiver?.start()
      }),
  },
]
