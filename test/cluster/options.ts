// Reads the command line of the cluster tests.
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { faultNames } from './faults/names.ts'

/** What one run does. */
export type Options = {
  /** Names of faults, in their order. */
  faults: string[]
  /** Payments that are created each second; the other operations come at a quarter of it. */
  ratePerS: number
  /** How long the load continues after each fault is over. */
  observeS: number
  /** The revision that the fault `upgrade` begins with; undefined for the last one with other migrations. */
  old: string | undefined
  /** Holds all data and logs of the run; emptied first. */
  folder: string
  /** Where the results are kept, from one run to the next. */
  results: string
}

export const usage = `npm run test:cluster -- [--fault NAME]… [--rate N] [--observe S] [--old REVISION] [--folder F] [--results F]
faults: ${faultNames.join(', ')}`

/** The options, or undefined when the command line is not understood. */
export function readOptions(args: string[]): Options | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        fault: { type: 'string', multiple: true, default: [...faultNames] },
        rate: { type: 'string', default: '4' },
        observe: { type: 'string', default: '15' },
        old: { type: 'string' },
        folder: { type: 'string', default: path.join(os.tmpdir(), 'payweave-cluster') },
        results: { type: 'string', default: path.join(import.meta.dirname, 'results') },
      },
    })
    const known: readonly string[] = faultNames
    const ratePerS = Number(values.rate)
    const observeS = Number(values.observe)
    if (!values.fault.every((name) => known.includes(name))) return undefined
    if (!(ratePerS > 0) || !(observeS > 0)) return undefined
    return {
      faults: known.filter((name) => values.fault.includes(name)),
      ratePerS,
      observeS,
      old: values.old,
      folder: path.resolve(values.folder),
      results: path.resolve(values.results),
    }
  } catch {
    return undefined
  }
}
