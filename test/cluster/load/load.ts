// The load: begins operations on schedule, also while earlier ones wait or fail, until it is stopped.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from './api.ts'
import { carryOut } from './operations.ts'
import type { Receiver } from './receiver.ts'
import type { Kind, Operation, Push, Records } from './records.ts'

/** A load that goes on until it is stopped. */
export type Load = {
  records: Records
  /** Begins no more operations, and resolves when the outcome of all is known; rejects when one was refused. */
  stop(): Promise<void>
}

/** In turn: half of what clients do is payments. */
const turn: Kind[] = ['create', 'bill', 'create', 'quote', 'create', 'create', 'transfer']
const createsInTurn = turn.filter((kind) => kind === 'create').length

/** Starts it. The merchant's server notes the pushes in the records of this load. */
export function startLoad(api: Api, receiver: Receiver, createsPerS: number): Load {
  const records: Records = { operations: [], pushes: [] as Push[] }
  receiver.noteIn(records.pushes)
  const refusals: unknown[] = []
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()
  const name = `c${Date.now().toString(36)}`
  const everyMs = (1_000 * createsInTurn) / (createsPerS * turn.length)

  const carry = async (operation: Operation): Promise<void> => {
    operation.resultId = await carryOut[operation.kind](api, operation, receiver)
  }
  const begin = (count: number): void => {
    const kind = turn[count % turn.length] ?? 'create'
    const operation: Operation = { kind, id: `${name}-${count}`, tries: [] }
    records.operations.push(operation)
    const work = carry(operation)
      .catch((error: unknown) => void refusals.push(error))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }
  const running = (async () => {
    const beganMs = performance.now()
    for (let count = 0; !stopping.signal.aborted; count += 1) {
      const earlyMs = beganMs + count * everyMs - performance.now()
      if (earlyMs > 0) await sleep(earlyMs)
      begin(count)
    }
  })()
  return {
    records,
    async stop() {
      stopping.abort()
      await running
      while (underWay.size > 0) await Promise.all(underWay)
      if (refusals.length > 0) throw new AggregateError(refusals, String(refusals[0]))
    },
  }
}
