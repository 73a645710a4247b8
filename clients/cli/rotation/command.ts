// The commands on the keys of stored values: status, rotate, reseal, retire. Keys of clients are those of "key".
import { keyFileNames } from '../../../deploy/bootstrap/lasting-secrets.ts'
import type { Command, CommandContext } from '../command.ts'
import { outFlags, outOptions } from '../vault-change.ts'
import { reseal } from './reseal.ts'
import { retireKey } from './retire.ts'
import { rotateKeys } from './rotate.ts'
import { serviceOptions } from './services.ts'
import { keyStatus } from './status.ts'

const options = {
  'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
  ...outOptions,
  out: 'folder of an installation\u2019s secrets, instead of a local start',
  ...serviceOptions,
  within: 'seconds to wait until processes have read a file (30; with --out 180)',
} as const

const now = 'does not ask the services, and is not in the audit'

/** The commands of `keys`. */
export const keyListCommands: Command[] = [
  {
    name: 'keys rotate',
    operands: '<list>... | all',
    operandWords: [...keyFileNames, 'all'],
    summary: 'Gives lists of keys a next key, and uses it when every process has read it.',
    options,
    flags: {
      ...outFlags,
      use: 'with --out, the second step: the next key, which all have read, is used from now on',
      now: `takes both steps at once: ${now}`,
    },
    run: (context: CommandContext) => rotateKeys(context),
  },
  {
    name: 'keys retire',
    operands: '<list> <key id>',
    operandWords: keyFileNames,
    summary: 'Removes a key that no process uses and no stored value needs.',
    options,
    flags: { ...outFlags, now: `removes it all the same: ${now}` },
    run: (context: CommandContext) => retireKey(context),
  },
  {
    name: 'keys reseal',
    operands: '',
    summary: 'Seals values at rest anew under the current seal.key, until none is left.',
    options: { ...options, rate: 'values a second at most (2000)' },
    flags: { check: 'only counts what is left; ends with 1 when there is something' },
    run: (context: CommandContext) => reseal(context),
  },
  {
    name: 'keys status',
    operands: '[<list>...]',
    operandWords: keyFileNames,
    summary:
      'Lists keys by id, state and age, and the processes that have read them; 1 when one has not.',
    options,
    flags: { count: 'counts the stored values that need each key, page by page' },
    run: (context: CommandContext) => keyStatus(context),
  },
]
