// The steps that a row takes through its states in the transitions of one batch. Pure.
import type { Machine } from '#core/machine.ts'

/** A step of a row, which is written only if the state of the row is `from`. */
export type Move<S> = { id: string; from: S; to: S }

/** Extends the path of a row by the steps of a further transition. */
export function addPath<S>(paths: Map<string, S[]>, id: string, path: readonly S[]): void {
  const earlier = paths.get(id)
  if (earlier === undefined) paths.set(id, [...path])
  else earlier.push(...path.slice(1))
}

/**
 * The steps of all rows, in rounds of one UPDATE each: a statement can change a row only once, and the trigger of the table allows
 * only steps of the state machine. If the machine has a direct step from the first state to the last, the path is that one step.
 */
export function roundsOf<S extends string>(
  paths: ReadonlyMap<string, readonly S[]>,
  machine: Machine<S, string>,
): Move<S>[][] {
  const rounds: Move<S>[][] = []
  for (const [id, path] of paths) {
    for (const [round, move] of stepsOf(path, machine).entries()) {
      ;(rounds[round] ??= []).push({ id, ...move })
    }
  }
  return rounds
}

function stepsOf<S extends string>(
  path: readonly S[],
  machine: Machine<S, string>,
): { from: S; to: S }[] {
  const [first] = path
  const last = path.at(-1)
  if (first === undefined || last === undefined) throw new Error('a path has no state')
  const isOneStep = first === last || Object.values(machine[first]).includes(last)
  if (isOneStep) return [{ from: first, to: last }]
  return path.slice(1).flatMap((to, index) => {
    const from = path[index]
    return from === undefined || from === to ? [] : [{ from, to }]
  })
}
