// The command that checks a deployment against the contract and reports.
import { keyOptions, targetOptions } from '../../clients/cli/api/target.ts'
import type { Command } from '../../clients/cli/command.ts'

const defaults = {
  /** Checks that run side by side. */
  atOnce: '12',
  /** Calls a second: below the limit of a hosted sandbox, so that a run is not in its own way. */
  ratePerS: '20',
}

/** `conformance`. */
export const conformanceCommand: Command = {
  name: 'conformance',
  operands: '',
  summary:
    'Checks a deployment against the contract, rule by rule; ends with 1 when one is not kept.',
  options: {
    ...targetOptions,
    ...keyOptions,
    report: 'folder for conformance.html and conformance.json; made if it is missing',
    only: 'checks whose name holds this; a star stands for anything',
    'at-once': `how many checks run side by side (${defaults.atOnce})`,
    rate: `most calls a second (${defaults.ratePerS}; 0, no limit, on this machine)`,
  },
  flags: {
    list: 'names the checks and their rules, and runs none',
    'allow-production': 'read with a production key; nothing is made there',
  },
  async run(context) {
    const { conformance } = await import('./conform.ts')
    return conformance(context, defaults)
  },
}
