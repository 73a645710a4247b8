// State machines as tables.

/** For every state, the events that it accepts and the state that each leads to. */
export type Machine<S extends string, E extends string> = Record<S, Partial<Record<E, S>>>

/** The state that an event leads to; undefined when the state does not accept the event, which the caller refuses. */
export function next<S extends string, E extends string>(
  machine: Machine<S, E>,
  state: S,
  event: E,
): S | undefined {
  const row = machine[state]
  return Object.hasOwn(row, event) ? row[event] : undefined
}

/** Returns whether no event leads out of a state. */
export function isTerminal<S extends string, E extends string>(
  machine: Machine<S, E>,
  state: S,
): boolean {
  return Object.keys(machine[state]).length === 0
}
