// The load: begins operations on schedule, also while earlier ones wait or fail, until it is stopped.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, seededRandom } from '../random.ts'
import { accountOperations } from './accounts.ts'
import type { Api } from './api.ts'
import { moneyOperations } from './money.ts'
import { type Clients, paymentOperations } from './payments.ts'
import { readOperations } from './reads.ts'
import type { Receivers } from './receivers.ts'
import { type Kind, kinds, type Operation, type Records } from './records.ts'

/** A load that goes on until it is stopped. */
export type Load = {
  records: Records
  /** Operations whose outcome is known. */
  done(): number
  /** Operations that wait for their outcome. */
  underWay(): number
  /** Begins one operation of each kind at once and returns them. Kinds, amounts and ids follow from the seed and the number. */
  beginEach(number: number): Operation[]
  /** Begins no more operations; resolves when all outcomes are known, or after `patienceS` seconds. */
  stop(patienceS?: number): Promise<void>
}

/** What a load is made of. */
export type LoadOptions = {
  ratePerS: number
  seed: number
  /** Kinds of operations, all if not given. */
  only?: readonly Kind[]
  /** Where its operations are noted; records of its own if not given. */
  records?: Records
}

/** How often each kind is in a round. */
const weights: Record<Kind, number> = {
  paid: 6,
  'by hand': 2,
  'by card': 1,
  'by cash': 1,
  cancelled: 3,
  'cancelled while paying': 1,
  expired: 1,
  refunded: 2,
  declined: 1,
  'late money': 1,
  'two payers': 1,
  bill: 5,
  quote: 1,
  transfer: 4,
  race: 1,
  account: 2,
  business: 1,
  consent: 1,
  'look-up': 1,
  deliveries: 1,
}
/** Maximum operations in flight: a system that stands still would meet all further ones at once. */
const maxUnderWay = 80

/** After the last fault: by then the system has recovered, or it does not. */
const defaultPatienceS = 240
/** Between the seeds of two operations. */
const spread = 0x9e3779b9

const carryOut = {
  ...paymentOperations,
  ...moneyOperations,
  ...accountOperations,
  ...readOperations,
}

/** Who gets the pushes of the load. */
type Pushed = Pick<Receivers, 'pushes'> & {
  all: readonly { urls: Clients['urls'] }[]
  onboarding: Clients['onboarding']
}

/** Starts it. Kinds and amounts follow from the seed. */
export function startLoad(api: Api, receivers: Pushed, options: LoadOptions): Load {
  const { ratePerS, seed, only = kinds } = options
  const { records = { operations: [], pushes: receivers.pushes } } = options
  const bag = only.flatMap((kind) => Array.from({ length: weights[kind] }, () => kind))
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  const name = `k${Date.now().toString(36)}`
  let done = 0
  api.giveUpAt(Infinity)

  const carry = async (operation: Operation, random: Random): Promise<void> => {
    const { urls } = random.pick(receivers.all)
    const clients: Clients = { api, urls, random, onboarding: receivers.onboarding }
    try {
      await carryOut[operation.kind](clients, operation)
    } catch (error) {
      operation.broken = error instanceof Error ? error.message : String(error)
    }
    operation.doneMs = Date.now()
    done += 1
  }
  const beginOne = (kind: Kind, id: string, random: Random): Operation => {
    const operation: Operation = { kind, id: `${name}-${id}`, begunMs: Date.now(), tries: [] }
    records.operations.push(operation)
    const work = carry(operation, random).finally(() => underWay.delete(work))
    underWay.add(work)
    return operation
  }
  const begin = (count: number): void => {
    // Each has its own, so that what it does depends on nothing that others wait for.
    const random = seededRandom(seed + Math.imul(count + 1, spread))
    beginOne(random.pick(bag), String(count), random)
  }
  const running = (async () => {
    const beganMs = performance.now()
    for (let count = 0; !stopping.signal.aborted; count += 1) {
      const earlyMs = beganMs + (count * 1_000) / ratePerS - performance.now()
      if (earlyMs > 0) await sleep(earlyMs)
      if (underWay.size < maxUnderWay) begin(count)
    }
  })()
  return {
    records,
    done: () => done,
    underWay: () => underWay.size,
    beginEach: (number) =>
      only.map((kind, index) => {
        const random = seededRandom(seed - Math.imul(number * kinds.length + index + 1, spread))
        return beginOne(kind, `step${number}-${index}`, random)
      }),
    async stop(patienceS = defaultPatienceS) {
      stopping.abort()
      await running
      api.giveUpAt(Date.now() + patienceS * 1_000)
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}
