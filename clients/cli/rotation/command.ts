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
  within: 'seconds to wait until all processes have read a file (30; with --out 180)',
} as const

const now = 'does not ask the services and adds no entry to the audit'

/** The commands of `keys`. */
export const keyListCommands: Command[] = [
  {
    name: 'keys rotate',
    operands: '<list>... | all',
    operandWords: [...keyFileNames, 'all'],
    summary: 'Adds a next key to lists of keys, and uses it once every process has read it.',
    options,
    flags: {
      ...outFlags,
      use: 'with --out, second step: uses the next key, which all processes have read',
      now: `both steps immediately: ${now}`,
    },
    run: (context: CommandContext) => rotateKeys(context),
  },
  {
    name: 'keys retire',
    operands: '<list> <key id>',
    operandWords: keyFileNames,
    summary: 'Removes a key that no process uses and no stored value needs.',
    options,
    flags: { ...outFlags, now: `removes it anyway: ${now}` },
    run: (context: CommandContext) => retireKey(context),
  },
  {
    name: 'keys reseal',
    operands: '',
    summary: 'Reseals values at rest under the current seal.key, until none is left.',
    options: { ...options, rate: 'maximum values per second (2000)' },
    flags: { check: 'only counts the values left; exits with 1 if there are any' },
    run: (context: CommandContext) => reseal(context),
  },
  {
    name: 'keys status',
    operands: '[<list>...]',
    operandWords: keyFileNames,
    summary:
      'Lists keys by id, state and age, and the processes that have read them; exits with 1 if one has not.',
    options,
    flags: { count: 'counts the stored values that need each key, page by page' },
    run: (context: CommandContext) => keyStatus(context),
  },
]
