// Batches items that arrive together, so that one statement serves many. No item waits for a timer.

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
  /** Whether `together` threw this because of one item and did nothing, so that each item can be tried alone. */
  isOfOne: (error: unknown) => boolean
}

type Waiting<I, O> = { item: I; resolve: (answer: O) => void; reject: (error: unknown) => void }

/**
 * Makes a function that processes one item, alone or in a batch. While few batches are in flight, a batch starts at the
 * end of the event-loop turn in which its first item arrived, with all items of that turn. Otherwise it starts when
 * another one ends, with all items that wait: batches grow with the load, and no item waits for a timer. The function
 * rejects with the error of `alone`, or with that of `together` for every item of the batch.
 */
export function batched<I, O>(batching: Batching<I, O>): (item: I) => Promise<O> {
  const { maxInFlight, maxBatchSize } = batching
  const waiting: Waiting<I, O>[] = []
  let underWay = 0
  // Whether `next` is scheduled for the end of this turn already.
  let turnEnds = false

  function next(): void {
    turnEnds = false
    while (underWay < maxInFlight && waiting.length > 0) {
      underWay += 1
      void work(batching, waiting.splice(0, maxBatchSize)).finally(() => {
        underWay -= 1
        nextOfTurn()
      })
    }
  }

  function nextOfTurn(): void {
    if (turnEnds) return
    turnEnds = true
    setImmediate(next)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      nextOfTurn()
    })
}

/** Processes a batch and settles each of its items. Never rejects. */
async function work<I, O>(batching: Batching<I, O>, group: Waiting<I, O>[]): Promise<void> {
  const { alone, together, isOfOne } = batching
  const each = (some: Waiting<I, O>[]) =>
    Promise.all(some.map(({ item, resolve, reject }) => alone(item).then(resolve, reject)))
  if (group.length === 1) {
    await each(group)
    return
  }
  try {
    const answers = await together(group.map(({ item }) => item))
    const left: Waiting<I, O>[] = []
    for (const [index, waiting] of group.entries()) {
      const answer = answers[index] as O | typeof leftOut
      if (answer === leftOut) left.push(waiting)
      else waiting.resolve(answer)
    }
    await each(left)
  } catch (error) {
    if (isOfOne(error)) await each(group)
    else for (const { reject } of group) reject(error)
  }
}
