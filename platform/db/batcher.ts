// Batches items that arrive together, so that one statement serves many. No item waits for a timer.
import { Failure } from '#core/errors/errors.ts'
import { runDetached } from '../rpc/context.ts'
import { isLockTimeout } from './errors.ts'

/** The result of an item that a batch left out. */
export const leftOut = Symbol('left out')

/** How batches are processed. */
export type Batching<I, O> = {
  /** Batches in flight at once; while they are, new items wait for the next one. */
  maxInFlight: number
  maxBatchSize: number
  /** Processes one item. */
  alone: (item: I) => Promise<O>
  /** Processes several items; results in the order of the items. An item that it left out is tried alone. */
  together: (items: I[]) => Promise<(O | typeof leftOut)[]>
  /** Whether `together` threw this because of one item and did nothing, so that the others can be tried without it. */
  isOfOne: (error: unknown) => boolean
  /** Whether `alone` waits for locks and `together` hardly does: then `together` processes a batch of one as well. */
  aloneWaits?: boolean
  /** Milliseconds since an arbitrary moment; never goes back. */
  nowMs?: () => number
}

/** Items in memory. More are refused. */
const maxWaiting = 10_000
/** As long as a caller waits for a connection. */
const maxWaitMs = 3_000
/** Items processed alone at once, beside the batches: each may hold a connection, of which there are 16, while it waits for a lock. */
const maxAlone = 5

type Waiting<I, O> = {
  item: I
  sinceMs: number
  resolve: (answer: O) => void
  reject: (error: unknown) => void
}

/**
 * Makes a function that processes one item, alone or in a batch. While few batches are in flight, a batch starts at the
 * end of the event-loop turn in which its first item arrived, with all items of that turn. Otherwise it starts when
 * another one ends, with all items that wait: batches grow with the load, and no item waits for a timer. A batch that is
 * refused because of one item is tried in halves. The function rejects with the error of `alone`, or with that of
 * `together` for every item of the batch; with TIMEOUT for an item that waited too long to be begun, and with
 * SERVER_OVERLOADED when too many wait.
 */
export function batched<I, O>(batching: Batching<I, O>): (item: I) => Promise<O> {
  const { maxInFlight, maxBatchSize, nowMs = () => performance.now() } = batching
  const waiting: Waiting<I, O>[] = []
  const waitingAlone: Waiting<I, O>[] = []
  let underWay = 0
  let aloneUnderWay = 0
  // Whether `next` is scheduled for the end of this turn already.
  let turnEnds = false

  function next(): void {
    turnEnds = false
    while (underWay < maxInFlight && waiting.length > 0) void batch()
    while (aloneUnderWay < maxAlone && waitingAlone.length > 0) void one()
  }

  async function batch(): Promise<void> {
    underWay += 1
    const left = await process(batching, take(waiting, maxBatchSize))
    underWay -= 1
    waitingAlone.push(...left.map((item) => ({ ...item, sinceMs: nowMs() })))
    nextOfTurn()
  }

  async function one(): Promise<void> {
    aloneUnderWay += 1
    await processAlone(batching, take(waitingAlone, 1))
    aloneUnderWay -= 1
    nextOfTurn()
  }

  /** Takes items that wait, except those whose callers have waited too long. */
  function take(from: Waiting<I, O>[], count: number): Waiting<I, O>[] {
    const oldestMs = nowMs() - maxWaitMs
    return from.splice(0, count).filter(({ sinceMs, reject }) => {
      if (sinceMs >= oldestMs) return true
      reject(new Failure('TIMEOUT', 'the database was too slow to begin this'))
      return false
    })
  }

  function nextOfTurn(): void {
    if (turnEnds) return
    turnEnds = true
    // A batch serves many calls: what it logs must not name the one that began it.
    runDetached(() => setImmediate(next))
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length + waitingAlone.length >= maxWaiting) {
        reject(new Failure('SERVER_OVERLOADED', 'too much waits for the database'))
        return
      }
      waiting.push({ item, sinceMs: nowMs(), resolve, reject })
      nextOfTurn()
    })
}

/** Processes a batch and settles its items; returns those that are to be processed alone. Never rejects. */
async function process<I, O>(
  batching: Batching<I, O>,
  group: Waiting<I, O>[],
): Promise<Waiting<I, O>[]> {
  const { together, isOfOne, aloneWaits = false } = batching
  if (group.length === 0 || (group.length === 1 && !aloneWaits)) {
    await processAlone(batching, group)
    return []
  }
  try {
    const answers = await together(group.map(({ item }) => item))
    return group.filter(({ resolve }, index) => {
      const answer = answers[index] as O | typeof leftOut
      if (answer !== leftOut) resolve(answer)
      return answer === leftOut
    })
  } catch (error) {
    if (!isOfOne(error)) {
      for (const { reject } of group) reject(error)
      return []
    }
    // Halves would wait for the same lock again.
    if (group.length === 1 || isLockTimeout(error)) return group
    const middle = Math.ceil(group.length / 2)
    const left = await process(batching, group.slice(0, middle))
    return [...left, ...(await process(batching, group.slice(middle)))]
  }
}

/** Never rejects. */
async function processAlone<I, O>(
  { alone }: Batching<I, O>,
  group: Waiting<I, O>[],
): Promise<void> {
  for (const { item, resolve, reject } of group) await alone(item).then(resolve, reject)
}
