// The table of all faults.
import { clockFaults } from './clocks.ts'
import type { Fault } from './fault.ts'
import { linkFaults } from './links.ts'
import { processFaults } from './processes.ts'
import { receiverFaults } from './receivers.ts'
import { reportFaults } from './reports.ts'
import { storeFaults } from './stores.ts'

export const faults: readonly Fault[] = [
  ...processFaults,
  ...storeFaults,
  ...linkFaults,
  ...reportFaults,
  ...receiverFaults,
  ...clockFaults,
]

/** The rows whose name is one of these or starts with it and a dash; all if none is given. Throws for a name that fits no row. */
export function faultsNamed(names: readonly string[]): Fault[] {
  const chosen = (name: string) =>
    faults.filter((fault) => fault.name === name || fault.name.startsWith(`${name}-`))
  const unknown = names.filter((name) => chosen(name).length === 0)
  if (unknown.length > 0)
    throw new Error(
      `no fault is named ${unknown.join(', ')}; there are ${faults.map(({ name }) => name).join(', ')}`,
    )
  if (names.length === 0) return [...faults]
  const wanted = new Set(names.flatMap(chosen))
  return faults.filter((fault) => wanted.has(fault))
}
