// Gathers what comes together into groups that are worked on at once; it must not make anybody wait for others by a clock.

/** How groups are worked on. */
export type Grouping<I, O> = {
  /** Groups under way at once: while they are, those who come gather behind them. */
  mostUnderWay: number
  mostInGroup: number
  alone: (item: I) => Promise<O>
  /** Answers in the order of the items. */
  together: (items: I[]) => Promise<O[]>
  /** True for what `together` throws when it has done nothing because of one item: each is then tried alone. */
  isOfOne: (error: unknown) => boolean
}

type Waiting<I, O> = { item: I; resolve: (answer: O) => void; reject: (error: unknown) => void }

/**
 * Makes what works on one item, alone or in a group. While few groups are under way an item goes at the end of the turn
 * of the event loop in which it came, with those that came in it: requests come in bursts, and the first of each would go
 * alone. Else it goes with all who wait when a group ends, so that groups grow with the load and nobody waits without it.
 */
export function grouped<I, O>(grouping: Grouping<I, O>): (item: I) => Promise<O> {
  const { mostUnderWay, mostInGroup } = grouping
  const waiting: Waiting<I, O>[] = []
  let underWay = 0
  let turnEnds = false

  function next(): void {
    turnEnds = false
    while (underWay < mostUnderWay && waiting.length > 0) {
      underWay += 1
      void work(grouping, waiting.splice(0, mostInGroup)).finally(() => {
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

/** Never rejects: each of the group is told. */
async function work<I, O>(grouping: Grouping<I, O>, group: Waiting<I, O>[]): Promise<void> {
  const { alone, together, isOfOne } = grouping
  const each = () =>
    Promise.all(group.map(({ item, resolve, reject }) => alone(item).then(resolve, reject)))
  if (group.length === 1) {
    await each()
    return
  }
  try {
    const answers = await together(group.map(({ item }) => item))
    for (const [index, { resolve }] of group.entries()) resolve(answers[index] as O)
  } catch (error) {
    if (isOfOne(error)) await each()
    else for (const { reject } of group) reject(error)
  }
}
