// Faults of the network between processes, and so of a back end that is silent, slow, or answers twice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { Mode } from '../system/link.ts'
import { type Linked, type LinkedStore, linkedParts, type System } from '../system/system.ts'
import type { Fault } from './fault.ts'

const stores: LinkedStore[] = ['postgres', 'nats']
const services = linkedParts.filter((part) => part !== 'simulator')
/** Where the back end sends its reports. */
const reported: Linked[] = ['payments', 'accounts', 'institution']

type LinkFault = {
  name: string
  what: string
  mode: Mode
  parts: readonly Linked[]
  words: string
  weight?: number
}

function fault({ name, what, mode, parts, words, weight = 2 }: LinkFault): Fault {
  return {
    name,
    what,
    weight,
    limitS: 15,
    needs: 'links',
    draw(random: Random) {
      const part = random.pick(parts)
      const heldS = random.whole(2, 15)
      return {
        title: `${part} ${words} ${heldS} s`,
        heldS,
        holds: `link to ${part}`,
        async inject({ links }: System) {
          links[part].set(mode)
          await sleep(heldS * 1_000)
          links[part].set('open')
        },
      }
    },
  }
}

export const linkFaults: Fault[] = [
  {
    name: 'store-cut',
    what: 'PostgreSQL or NATS is not reached by any process: connections are reset.',
    mode: 'cut' as const,
    parts: stores,
    words: 'not reached',
  },
  {
    name: 'store-silent',
    what: 'Nothing passes to or from PostgreSQL or NATS, and no process is informed: a partition, which ends.',
    mode: 'silent' as const,
    parts: stores,
    words: 'partitioned',
  },
  {
    name: 'store-slow',
    what: 'Every packet to and from PostgreSQL or NATS takes 400 ms.',
    mode: 'slow' as const,
    parts: stores,
    words: 'slow to reach',
  },
  {
    name: 'store-answers-lost',
    what: 'PostgreSQL or NATS carries out what it is sent; its answers are lost.',
    mode: 'deaf' as const,
    parts: stores,
    words: 'answers lost',
  },
  {
    name: 'link-cut',
    what: 'Nobody reaches a service: connections are reset.',
    mode: 'cut' as const,
    parts: services,
    words: 'not reached',
  },
  {
    name: 'link-silent',
    what: 'Nothing passes to or from a service, and nobody is informed: a partition, which ends.',
    mode: 'silent' as const,
    parts: services,
    words: 'partitioned',
  },
  {
    name: 'link-slow',
    what: 'Every packet to and from a service takes 400 ms.',
    mode: 'slow' as const,
    parts: services,
    words: 'slow to reach',
  },
  {
    name: 'answers-lost',
    what: 'A service gets its requests and executes them; its answers are lost.',
    mode: 'deaf' as const,
    parts: services,
    words: 'answers lost',
    weight: 3,
  },
  {
    name: 'backend-cut',
    what: 'The back end is not reached.',
    mode: 'cut' as const,
    parts: ['simulator'] as const,
    words: '(back end) not reached',
  },
  {
    name: 'backend-silent',
    what: 'The back end does not answer, and gets its requests late.',
    mode: 'silent' as const,
    parts: ['simulator'] as const,
    words: '(back end) silent',
  },
  {
    name: 'backend-slow',
    what: 'Each packet to and from the back end takes 400 ms.',
    mode: 'slow' as const,
    parts: ['simulator'] as const,
    words: '(back end) slow',
  },
  {
    name: 'backend-answers-lost',
    what: 'The back end executes, and its answers are lost.',
    mode: 'deaf' as const,
    parts: ['simulator'] as const,
    words: '(back end) answers lost',
    weight: 3,
  },
  {
    name: 'reports-repeated',
    what: 'The answers to reports of the back end are lost, so that it sends each of them again.',
    mode: 'deaf' as const,
    parts: reported,
    words: 'gets reports again',
    weight: 2,
  },
  {
    name: 'reports-late',
    what: 'The reports of the back end arrive late.',
    mode: 'silent' as const,
    parts: reported,
    words: 'gets reports late',
    weight: 1,
  },
].map(fault)
