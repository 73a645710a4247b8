// The commands that make and rotate the secrets of an installation; they show one only when asked.
import { isUuid } from '#core/identity/id.ts'
import { type Bearer, readTime } from '#platform/rpc/auth/trust.ts'
import {
  addBearer,
  makeMissing,
  operatorFile,
  revokeBearer,
  rotateIdentity,
  rotateOperator,
  type Step,
} from '../../deploy/bootstrap/installation.ts'
import type { Vault } from '../../deploy/bootstrap/vault.ts'
import { bootstrapInstitution } from './bootstrap-institution.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'
import { changeVault, outFlags, outOptions } from './vault-change.ts'

const expiryOption = {
  expires: 'when a new bearer ends: 2027-01-31T00:00:00Z, or days from now such as 30d (90d)',
} as const

/** The commands of `bootstrap`. Longer names first: the first command whose words match is run. */
export const bootstrapCommands: Command[] = [
  bootstrapInstitution,
  {
    name: 'bootstrap rotate',
    operands: 'identity <process> | operator',
    summary: 'Begins to change a key: all trust the next one. Then --use, then --retire.',
    options: { ...outOptions, ...expiryOption },
    flags: {
      ...outFlags,
      use: 'the process signs with the next key, which all have read by now',
      retire: 'the old key or bearer is trusted no more',
    },
    run: async (context) => work(context, rotate),
  },
  {
    name: 'bootstrap bearer',
    operands: '[name]',
    summary: 'Gives a team a bearer, in bearers/<name>/credential; without a name, lists them.',
    options: {
      ...outOptions,
      ...expiryOption,
      rpcs: 'what it may call, by commas: pkg.Service/Method, pkg.Service/* or *',
      project: 'UUID of the only project that it may act for',
    },
    flags: { ...outFlags, revoke: 'ends the bearer of this name' },
    run: async (context) => work(context, changeBearer),
  },
  {
    name: 'bootstrap',
    operands: '',
    summary: 'Makes the secrets of an installation that are missing; leaves those that are there.',
    options: { ...outOptions, ...expiryOption },
    flags: { ...outFlags, 'show-operator': 'prints the first operator\u2019s bearer' },
    run: async (context) => {
      await work(context, (vault) => makeMissing(vault, expiryOf(context)))
    },
  },
]

async function work(
  context: CommandContext,
  change: (vault: Vault, context: CommandContext) => object | void,
): Promise<void> {
  const { flags, json, print } = context
  let shown: object | undefined
  const vault = await changeVault(context, (opened) => {
    shown = change(opened, context) ?? undefined
  })
  const changed = [...new Set(vault.changes)]
  if (json) print(JSON.stringify({ changed, ...shown }))
  else for (const file of changed) print(`wrote  ${file}`)
  if (flags.has('show-operator')) print(vault.read(operatorFile))
  for (const { name, expires } of vault.bearers) {
    if (expires !== undefined) continue
    context.warn(
      `the bearer ${name} never expires, and production does not trust it: give a new one`,
    )
  }
}

const defaultLifetime = '90d'
const daysPattern = /^(\d{1,4})d$/
const dayMs = 86_400_000

/** When a new bearer ends, as trust files say it. */
function expiryOf({ options }: CommandContext): string {
  const wish = options['expires'] ?? defaultLifetime
  const days = daysPattern.exec(wish)?.[1]
  const expiresMs = days === undefined ? readTime(wish) : Date.now() + Number(days) * dayMs
  if (!(expiresMs > Date.now())) {
    throw new UsageError('--expires must be a time to come, as 2027-01-31T00:00:00Z or 30d')
  }
  return new Date(expiresMs).toISOString()
}

const rpcPattern = /^(\*|[a-z0-9_.]+\.[A-Z]\w*\/(\*|[A-Z]\w*))$/

function changeBearer(vault: Vault, context: CommandContext): object | undefined {
  const { operands, flags, options } = context
  const [name, ...more] = operands
  if (more.length > 0) throw new UsageError('say one name')
  if (name === undefined) return listBearers(vault, context)
  if (flags.has('revoke')) {
    revokeBearer(vault, name)
    return undefined
  }
  const rpcs = (options['rpcs'] ?? '').split(',')
  if (!rpcs.every((rpc) => rpcPattern.test(rpc))) {
    throw new UsageError('--rpcs must be pkg.Service/Method, pkg.Service/* or *, by commas')
  }
  const { project } = options
  if (project !== undefined && !isUuid(project)) throw new UsageError('--project must be a UUID')
  const bound = project === undefined ? {} : { project_id: project }
  addBearer(vault, name, { rpcs, expires: expiryOf(context), ...bound })
  return undefined
}

function listBearers(vault: Vault, { json, print }: CommandContext): object {
  const bearers = vault.bearers.map(({ name, rpcs, expires, project_id }) => ({
    name,
    rpcs,
    expires,
    project_id,
  }))
  if (!json) for (const bearer of bearers) print(lineOf(bearer))
  return { bearers }
}

function lineOf({ name, rpcs, expires, project_id }: Omit<Bearer, 'sha256'>): string {
  const project = project_id === undefined ? 'all projects' : `project ${project_id}`
  const end = expires === undefined ? 'never expires' : `expires ${expires}`
  return `${name}  ${end}  ${project}  ${rpcs.join(',')}`
}

function rotate(vault: Vault, context: CommandContext): void {
  const { operands, flags } = context
  const [what, part] = operands
  if (flags.has('use') && flags.has('retire')) throw new UsageError('say --use or --retire')
  const step: Step = flags.has('use') ? 'use' : flags.has('retire') ? 'retire' : 'begin'
  if (what === 'identity' && part !== undefined) rotateIdentity(vault, part, step)
  else if (what === 'operator' && part === undefined) rotateOperator(vault, step, expiryOf(context))
  else
    throw new UsageError(
      'say "identity <process>" or "operator"; keys on which stored rows depend: "keys rotate"',
    )
}
