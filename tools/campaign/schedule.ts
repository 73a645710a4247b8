// The schedule of a campaign: which faults come in which order, and with what beside them. A seed repeats it.
import type { Drawn, Fault } from './faults/fault.ts'
import { seededRandom } from './random.ts'

/** Faults that are injected together, after a pause in which the load flows. */
export type Step = { number: number; pauseMs: number; faults: Drawn[]; limitS: number }

const maxPauseMs = 2_000
/** Shares of steps with two faults and with four. */
const twoShare = 0.25
const fourShare = 0.08

/** Steps without end. Each row of the table comes at least once in a round of all rows, in an order of the seed. */
export function* stepsOf(rows: readonly Fault[], seed: number): Generator<Step, never> {
  const random = seededRandom(seed)
  let bag: Fault[] = []
  const next = (): Fault => {
    if (bag.length === 0) bag = rows.flatMap((row) => Array.from({ length: row.weight }, () => row))
    const index = random.whole(0, bag.length - 1)
    const [row] = bag.splice(index, 1)
    if (row === undefined) throw new Error('the table of faults is empty')
    return row
  }
  for (let number = 1; ; number += 1) {
    const draw = random.next()
    const count = draw < fourShare ? 4 : draw < fourShare + twoShare ? 2 : 1
    const rowsOf = Array.from({ length: count }, next)
    const alone = rowsOf.find(({ isAlone }) => isAlone)
    const drawn = (alone === undefined ? rowsOf : [alone]).map((row) => ({
      row,
      fault: { name: row.name, ...row.draw(random) },
    }))
    yield {
      number,
      pauseMs: random.whole(0, maxPauseMs),
      faults: drawn.map(({ fault }) => fault),
      limitS: Math.max(...drawn.map(({ row }) => row.limitS)),
    }
  }
}
