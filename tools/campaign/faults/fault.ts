// What a fault is: it breaks a running system for a time, and says by when everything works again.
import type { Random } from '../random.ts'
import type { System } from '../system/system.ts'

/** A fault that is drawn from the table: what it does is fixed, so that a seed repeats it. */
export type Drawn = {
  /** Row of the table. */
  name: string
  /** The row and what it hits, for people: `kill payments`. */
  title: string
  /** How long it lasts, in seconds; 0 for one that is over at once. */
  heldS: number
  /** What it holds while it lasts, such as one link: two faults of one step never hold the same. */
  holds?: string
  /** Breaks the system; resolves when the fault is over. */
  inject(system: System): Promise<void>
}

/** One row of the table. */
export type Fault = {
  name: string
  /** What happens, for the page of the table. */
  what: string
  /** How often it is drawn beside others. */
  weight: number
  /** Seconds after its end from which every request must be answered; 0: requests never notice it. */
  limitS: number
  /** Whether no other fault comes in the same step. */
  isAlone?: true
  /** What a system must have: links between processes, or small disks. */
  needs?: 'links' | 'disks'
  draw(random: Random): Omit<Drawn, 'name'>
}
