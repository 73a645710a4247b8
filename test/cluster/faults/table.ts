// All faults by name.
import type { Fault } from './fault.ts'
import { natsFaults } from './nats.ts'
import { partFaults } from './parts.ts'
import { postgresFaults } from './postgres.ts'
import { restore } from './restore.ts'
import { upgrade } from './upgrade.ts'

const faults: Fault[] = [upgrade, ...postgresFaults, restore, ...natsFaults, ...partFaults]

/** The fault of a name. */
export function faultNamed(name: string): Fault {
  const found = faults.find((fault) => fault.name === name)
  if (found === undefined) throw new Error(`there is no fault ${name}`)
  return found
}
