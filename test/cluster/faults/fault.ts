// What a fault is: it breaks the cluster while the load goes on, and says what must hold.
import type { Lab } from '../lab/lab.ts'
import type { Counts } from '../report/invariants.ts'
import type { Measures } from '../report/measure.ts'
import type { FaultName } from './names.ts'

/** What was learnt while it lasted, such as the seconds until Patroni had a new primary. */
export type Facts = Record<string, number>

/** A fault that is over, or that lasts until everything is brought back. */
export type Injected = {
  facts: Facts
  /** Brings back what is still missing, after the load. */
  restore?: () => Promise<void>
}

/** One row of the table. */
export type Fault = {
  name: FaultName
  title: string
  /** What must hold, in the words of the report. */
  required: string
  /** Time after which no operation may fail any more, even while the fault lasts. */
  detectedAfterMs?: number
  /** Breaks the cluster; resolves when the fault is over, or when the cluster must have begun to work without what is lost. */
  inject(lab: Lab): Promise<Injected>
  /** Counts that must be 0 beside the invariants of every fault. */
  mustBeZero?(measures: Measures, facts: Facts): Counts
  /** What was measured, in the words of the report. */
  measured(measures: Measures, facts: Facts): string
}

/** Seconds with one decimal. */
export function seconds(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(1)} s` : 'none'
}
