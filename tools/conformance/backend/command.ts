// The command that checks a back end against `payweave.backend.v1` and reports.
import type { Command } from '../../../clients/cli/command.ts'

/** What the command assumes where an option is not given. */
export const defaults = {
  host: '127.0.0.1',
  audience: 'simulator',
  pages: 'https://pay.example',
  'at-once': '8',
  'payments-port': '7201',
  'accounts-port': '7202',
  'institution-port': '7203',
} as const

/** `conformance backend`. */
export const backendConformanceCommand: Command = {
  name: 'conformance backend',
  operands: '',
  summary:
    'Checks a back end against payweave.backend.v1, playing the part of Payweave; ends with 1 when a rule is not kept.',
  options: {
    url: 'where the back end serves its RPCs',
    map: 'file that maps outcomes to the test values of the back end',
    secrets: "folder with each process's identity.key and trust.json (see --prepare)",
    report: 'folder for conformance.html and conformance.json; made if it is missing',
    only: 'checks whose name holds this; a star stands for anything',
    pages: `origin of the pages that show card forms (${defaults.pages})`,
    executions: "URL of the back end's log of executions, with {kind} and {id}",
    forms: 'URL of a program of yours that fills in and submits card forms which a script makes',
    audience: `name under which Payweave knows the back end (${defaults.audience})`,
    host: `address on which reports are taken (${defaults.host})`,
    'payments-port': `where it takes reports on charges, payouts and refunds (${defaults['payments-port']})`,
    'accounts-port': `where it takes reports on reviews (${defaults['accounts-port']})`,
    'institution-port': `where it takes reports on transfers (${defaults['institution-port']})`,
    'at-once': `how many checks run side by side (${defaults['at-once']})`,
  },
  flags: {
    list: 'names the checks and their rules, and runs none',
    prepare: 'writes new keys for both sides to --secrets, and runs nothing',
  },
  async run(context) {
    const { conformBackend } = await import('./conform.ts')
    return conformBackend(context, defaults)
  },
}
