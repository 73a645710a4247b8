// The commands that make and rotate the secrets of an installation; they show one only when asked.
import { isUuid } from '#core/identity/id.ts'
import { type Bearer, readTime } from '#platform/rpc/auth/trust.ts'
import {
  addBearer,
  addConnector,
  makeMissing,
  operatorFile,
  revokeBearer,
  rotateIdentity,
  rotateOperator,
  rotatePassword,
  type Step,
} from '../../deploy/bootstrap/installation.ts'
import type { Vault } from '../../deploy/bootstrap/vault.ts'
import { bootstrapInstitution } from './bootstrap-institution.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'
import { changeVault, outFlags, outOptions } from './vault-change.ts'

const expiryOption = {
  expires: 'expiry of a new bearer: 2027-01-31T00:00:00Z, or days from now such as 30d (90d)',
} as const

/** The commands of `bootstrap`. */
export const bootstrapCommands: Command[] = [
  bootstrapInstitution,
  {
    name: 'bootstrap rotate',
    operands: 'identity <process> | operator | password <file>',
    summary:
      'Rotates a key in three steps: trust the next key, then --use, then --retire. A password has one step.',
    options: { ...outOptions, ...expiryOption },
    flags: {
      ...outFlags,
      use: 'second step: the process signs with the next key, which all processes have read',
      retire: 'last step: the old key or bearer is no longer trusted',
    },
    run: async (context) => work(context, rotate),
  },
  {
    name: 'bootstrap bearer',
    operands: '[name]',
    summary:
      'Creates a bearer for a team in bearers/<name>/credential; without a name, lists all bearers.',
    options: {
      ...outOptions,
      ...expiryOption,
      rpcs: 'RPCs that it may call, comma-separated: pkg.Service/Method, pkg.Service/* or *',
      project: 'UUID of the only project that it may act for',
    },
    flags: { ...outFlags, revoke: 'revokes the bearer of this name' },
    run: async (context) => work(context, changeBearer),
  },
  {
    name: 'bootstrap',
    operands: '',
    summary: 'Creates the missing secrets of an installation; never replaces existing ones.',
    options: {
      ...outOptions,
      ...expiryOption,
      connector: 'also creates those of a connector of this name, such as connector-momo',
    },
    flags: { ...outFlags, 'show-operator': 'prints the first operator\u2019s bearer' },
    run: async (context) => {
      await work(context, (vault) => {
        makeMissing(vault, expiryOf(context))
        const { connector } = context.options
        if (connector !== undefined) addConnector(vault, connector)
      })
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
    context.warn(`the bearer ${name} never expires, and production does not trust it: rotate it`)
  }
}

const defaultLifetime = '90d'
const daysPattern = /^(\d{1,4})d$/
const dayMs = 86_400_000

/** When a new bearer ends, as trust files say it. */
function expiryOf({ options }: CommandContext): string {
  const lifetime = options['expires'] ?? defaultLifetime
  const days = daysPattern.exec(lifetime)?.[1]
  const expiresMs = days === undefined ? readTime(lifetime) : Date.now() + Number(days) * dayMs
  if (!(expiresMs > Date.now())) {
    throw new UsageError(
      '--expires must be a time in the future, such as 2027-01-31T00:00:00Z or 30d',
    )
  }
  return new Date(expiresMs).toISOString()
}

const rpcPattern = /^(\*|[a-z0-9_.]+\.[A-Z]\w*\/(\*|[A-Z]\w*))$/

function changeBearer(vault: Vault, context: CommandContext): object | undefined {
  const { operands, flags, options } = context
  const [name, ...more] = operands
  if (more.length > 0) throw new UsageError('pass one name')
  if (name === undefined) return listBearers(vault, context)
  if (flags.has('revoke')) {
    revokeBearer(vault, name)
    return undefined
  }
  const rpcs = (options['rpcs'] ?? '').split(',')
  if (!rpcs.every((rpc) => rpcPattern.test(rpc))) {
    throw new UsageError('--rpcs must be pkg.Service/Method, pkg.Service/* or *, comma-separated')
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
  if (flags.has('use') && flags.has('retire')) throw new UsageError('pass --use or --retire')
  const step: Step = flags.has('use') ? 'use' : flags.has('retire') ? 'retire' : 'begin'
  if (what === 'identity' && part !== undefined) rotateIdentity(vault, part, step)
  else if (what === 'operator' && part === undefined) rotateOperator(vault, step, expiryOf(context))
  else if (what === 'password' && part !== undefined && step === 'begin')
    rotatePassword(vault, part)
  else
    throw new UsageError(
      'pass "identity <process>", "operator" or, without a step, "password <file>"; for the keys of stored values use "keys rotate"',
    )
}
