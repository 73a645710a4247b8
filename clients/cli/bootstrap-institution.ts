// The command that makes an installation's institution and stores its credentials without printing a secret.
import { randomUUID } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import type { CreateInstitutionResponse } from '#gen/payweave/accounts/v1/access_pb.js'
import { operatorFile } from '../../deploy/bootstrap/installation.ts'
import { openVault, type Vault } from '../../deploy/bootstrap/vault.ts'
import { accountsOptions, environmentOf, oneOperand, withAccess } from './access.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'

/** The command `bootstrap institution`. */
export const bootstrapInstitution: Command = {
  name: 'bootstrap institution',
  operands: '<name>',
  summary:
    'Creates an institution as the first operator, and stores its key and signing secret in the folder.',
  options: {
    ...accountsOptions,
    out: 'folder of the installation\u2019s secrets',
    environment: 'sandbox or production (sandbox)',
    currency: 'default currency of its accounts, ISO 4217 code (USD)',
  },
  run: makeInstitution,
}

async function makeInstitution(context: CommandContext): Promise<void> {
  const { options, json, print } = context
  const name = oneOperand(context, 'name')
  if (options['out'] === undefined) throw new UsageError('--out is missing')
  const vault = openVault(options['out'])
  try {
    if (!vault.has(operatorFile)) throw new UsageError('run "bootstrap" with this --out first')
    const folder = `institutions/${options['environment'] ?? 'sandbox'}/${encodeURIComponent(name)}`
    if (!vault.has(`${folder}/signing-secret`))
      keep(vault, folder, await create(context, vault, folder))
    const institutionId = vault.read(`${folder}/institution-id`)
    if (json) print(JSON.stringify({ institutionId, changed: vault.changes }))
    else {
      print(`institution  ${institutionId}`)
      for (const file of vault.changes) print(`wrote  ${file}`)
    }
  } finally {
    vault.close()
  }
}

/** The id of the request is stored first, so that a repeat after a lost answer makes no second institution. */
async function create(context: CommandContext, vault: Vault, folder: string) {
  const requestId = vault.keep(`${folder}/request-id`, randomUUID)
  const options = { token: vault.read(operatorFile), ...context.options }
  let made: CreateInstitutionResponse | undefined
  await withAccess({ ...context, options }, async ({ operands: [name = ''] }, access) => {
    const environment = environmentOf(context)
    const defaultCurrency = context.options['currency'] ?? ''
    made = await access.createInstitution({ name, environment, defaultCurrency, requestId })
  }).catch((error: unknown) => {
    if (error instanceof Failure && error.reason === 'REQUEST_DONE') {
      context.warn('it exists, but its secrets were lost with a response: run "institution rotate"')
    }
    throw error
  })
  return made
}

function keep(vault: Vault, folder: string, made: CreateInstitutionResponse | undefined): void {
  if (made?.institution === undefined || made.key === undefined) {
    throw new Failure('INTERNAL_ERROR', 'the response has no institution')
  }
  vault.put(`${folder}/institution-id`, made.institution.institutionId)
  vault.put(`${folder}/key-id`, made.key.keyId)
  vault.put(`${folder}/shared-key`, made.key.sharedKey)
  vault.put(`${folder}/signing-secret`, made.key.signingSecret)
}
