// The schedule of a campaign: which faults come in which order, and with what beside them. A seed repeats it.
import type { Drawn, Fault } from './faults/fault.ts'
import { type Random, seededRandom } from './random.ts'

/** Faults that are injected together, after a pause in which the load flows. */
export type Step = {
  number: number
  pauseMs: number
  faults: Drawn[]
  limitS: number
  /** After it, all that began before its end is waited for: every answer and every push. */
  isRest: boolean
}

const maxPauseMs = 2_000
/** Shares of steps with two faults, with four, and with eight. */
const twoShare = 0.25
const fourShare = 0.08
const eightShare = 0.03
const restEvery = 6
/** How often a fault is drawn again that holds what another one of its step holds. */
const maxDraws = 20

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
    const rowsOf = Array.from({ length: countOf(random.next()) }, next)
    const alone = rowsOf.find(({ isAlone }) => isAlone)
    const faults: Drawn[] = []
    for (const row of alone === undefined ? rowsOf : [alone]) {
      const fault = drawBeside(row, faults, random)
      if (fault !== undefined) faults.push(fault)
    }
    const names = new Set(faults.map(({ name }) => name))
    yield {
      number,
      pauseMs: random.whole(0, maxPauseMs),
      faults,
      limitS: Math.max(...rows.filter(({ name }) => names.has(name)).map(({ limitS }) => limitS)),
      isRest: number % restEvery === 0,
    }
  }
}

function countOf(draw: number): number {
  if (draw < eightShare) return 8
  if (draw < eightShare + fourShare) return 4
  return draw < eightShare + fourShare + twoShare ? 2 : 1
}

/** A fault that holds nothing that one of the others holds; undefined when none is drawn. */
function drawBeside(row: Fault, others: readonly Drawn[], random: Random): Drawn | undefined {
  for (let draws = 0; draws < maxDraws; draws += 1) {
    const fault = { name: row.name, ...row.draw(random) }
    const { holds } = fault
    if (holds === undefined || !others.some((other) => other.holds === holds)) return fault
  }
  return undefined
}
