// The commands that make and rotate the secrets of an installation; they must not show one unless asked.
import {
  makeMissing,
  operatorFile,
  rotateIdentity,
  rotateOperator,
  type Step,
} from '../bootstrap/installation.ts'
import type { Vault } from '../bootstrap/vault.ts'
import { bootstrapInstitution } from './bootstrap-institution.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'
import { changeVault, outFlags, outOptions } from './vault-change.ts'

/** The commands of `bootstrap`; the longer names first, as they are looked for. */
export const bootstrapCommands: Command[] = [
  bootstrapInstitution,
  {
    name: 'bootstrap rotate',
    operands: 'identity <process> | operator',
    summary: 'Begins to change a key: all trust the next one. Then --use, then --retire.',
    options: outOptions,
    flags: {
      ...outFlags,
      use: 'the process signs with the next key, which all have read by now',
      retire: 'the old key or bearer is trusted no more',
    },
    run: async (context) => work(context, rotate),
  },
  {
    name: 'bootstrap',
    operands: '',
    summary: 'Makes the secrets of an installation that are missing; leaves those that are there.',
    options: outOptions,
    flags: { ...outFlags, 'show-operator': 'prints the first operator\u2019s bearer' },
    run: async (context) => work(context, makeMissing),
  },
]

async function work(
  context: CommandContext,
  change: (vault: Vault, context: CommandContext) => void,
): Promise<void> {
  const { flags, json, print } = context
  const vault = await changeVault(context, (opened) => change(opened, context))
  const changed = [...new Set(vault.changes)]
  if (json) print(JSON.stringify({ changed }))
  else for (const file of changed) print(`wrote  ${file}`)
  if (flags.has('show-operator')) print(vault.read(operatorFile))
}

function rotate(vault: Vault, { operands, flags }: CommandContext): void {
  const [what, part] = operands
  if (flags.has('use') && flags.has('retire')) throw new UsageError('say --use or --retire')
  const step: Step = flags.has('use') ? 'use' : flags.has('retire') ? 'retire' : 'begin'
  if (what === 'identity' && part !== undefined) rotateIdentity(vault, part, step)
  else if (what === 'operator' && part === undefined) rotateOperator(vault, step)
  else
    throw new UsageError(
      'say "identity <process>" or "operator"; keys on which stored rows depend: "keys rotate"',
    )
}
