// The commands on institutions and grants; they print a secret once, when it is made, and do not keep it.
import {
  CreateInstitutionResponseSchema,
  Environment,
  GetInstitutionResponseSchema,
  type Grant,
  GrantSchema,
  type Institution,
  type InstitutionKey,
  InstitutionSchema,
  RotateInstitutionKeyResponseSchema,
  type SigningKey,
  SigningKeySchema,
} from '#gen/payweave/accounts/v1/access_pb.js'
import {
  type AccessWork,
  accountsOptions,
  environmentOf,
  institutionNamed,
  namingOptions,
  once,
  onceOption,
  oneOperand,
  projectNamed,
  projectOption,
  withAccess,
} from './access.ts'
import type { Command, CommandContext } from './command.ts'
import { isOfId } from './operations/list-command.ts'
import { jsonLine, printable, time, wordOf } from './output/print.ts'
import { type ListShape, pagesOf, printList } from './output/table.ts'
import { wholeNumber } from './parser/whole-number.ts'
import { UsageError } from './usage-error.ts'

const grantOptions = { ...namingOptions, ...projectOption } as const

/** The commands of `institution` and `grant`. */
export const institutionCommands: Command[] = [
  {
    name: 'institution create',
    operands: '<name>',
    summary: 'Creates an institution with its first key and signing secret.',
    options: {
      ...accountsOptions,
      environment: 'sandbox or production (sandbox)',
      currency: 'default currency of its accounts, ISO 4217 code (USD)',
      ...onceOption,
    },
    run: (context) => withAccess(context, create),
  },
  {
    name: 'institution list',
    operands: '',
    summary: 'Lists institutions, oldest first.',
    options: {
      ...accountsOptions,
      environment: 'filter by environment: sandbox or production',
      name: 'filter by name',
      id: 'UUID of an institution',
      limit: 'maximum number (50)',
    },
    run: (context) => withAccess(context, list),
  },
  {
    name: 'institution rotate',
    operands: '<institution>',
    summary: 'Adds a key and signing secret to an institution; retires the oldest of three.',
    options: { ...namingOptions, ...onceOption },
    run: (context) => withAccess(context, rotate),
  },
  {
    name: 'institution show',
    operands: '<institution>',
    summary: 'Shows an institution and the ids of its live keys.',
    options: namingOptions,
    run: (context) => withAccess(context, show),
  },
  {
    name: 'institution secrets',
    operands: '',
    summary: 'Lists the signing secrets of the institutions that a project uses, by id.',
    options: grantOptions,
    run: (context) => withAccess(context, listSecrets),
  },
  {
    name: 'grant add',
    operands: '<institution> <endpoint>…',
    summary: 'Grants a project endpoints of an institution: "POST /institution/quote".',
    options: grantOptions,
    run: (context) => withAccess(context, changeGrants('grantEndpoints')),
  },
  {
    name: 'grant remove',
    operands: '<institution> <endpoint>…',
    summary: 'Revokes grants.',
    options: grantOptions,
    run: (context) => withAccess(context, changeGrants('revokeGrants')),
  },
  {
    name: 'grant list',
    operands: '[<institution>]',
    summary: 'Lists the grants of a project.',
    options: grantOptions,
    run: (context) => withAccess(context, listGrants),
  },
]

const create: AccessWork = async (context, access) => {
  const name = oneOperand(context, 'name')
  const environment = environmentOf(context)
  const defaultCurrency = context.options['currency'] ?? ''
  const made = await once(context, (requestId) =>
    access.createInstitution({ name, environment, defaultCurrency, requestId }),
  )
  if (context.json) {
    context.print(jsonLine(CreateInstitutionResponseSchema, made))
    return
  }
  printInstitution(context, made.institution)
  printKey(context, made.key)
}

const institutionShape: ListShape<Institution> = {
  headings: ['INSTITUTION', 'ENVIRONMENT', 'CURRENCY', 'NAME'],
  cells: ({ institutionId, environment, defaultCurrency, name }) => [
    institutionId,
    wordOf(Environment, environment),
    defaultCurrency,
    printable(name),
  ],
  json: (institution) => jsonLine(InstitutionSchema, institution),
  none: 'no institutions',
}

const list: AccessWork = async (context, access) => {
  const { options } = context
  const environment =
    options['environment'] === undefined ? Environment.UNSPECIFIED : environmentOf(context)
  const { name = '', id: institutionId = '' } = options
  const wanted = { environment, name, institutionId }
  const limit = wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
  const pages = pagesOf(limit, async (pageSize, pageToken) => {
    const page = await access.listInstitutions({ ...wanted, pageSize, pageToken })
    const items = page.institutions.filter(isOfId(context, (one) => one.institutionId))
    return { items, nextPageToken: page.nextPageToken }
  })
  await printList(context, institutionShape, pages)
}

const rotate: AccessWork = async (context, access) => {
  const institutionId = await institutionNamed(context, access, oneOperand(context, 'institution'))
  const made = await once(context, (requestId) =>
    access.rotateInstitutionKey({ institutionId, requestId }),
  )
  if (context.json) context.print(jsonLine(RotateInstitutionKeyResponseSchema, made))
  else printKey(context, made.key)
}

const show: AccessWork = async (context, access) => {
  const institutionId = await institutionNamed(context, access, oneOperand(context, 'institution'))
  const found = await access.getInstitution({ institutionId })
  if (context.json) {
    context.print(jsonLine(GetInstitutionResponseSchema, found))
    return
  }
  printInstitution(context, found.institution)
  for (const { keyId, issueTime } of found.liveKeys) {
    context.print(`live key        ${keyId}  issued ${time(issueTime)}`)
  }
}

const secretShape: ListShape<SigningKey> = {
  headings: ['INSTITUTION', 'KEY', 'SINCE'],
  cells: (key) => [printable(key.institutionName), key.keyId, time(key.issueTime)],
  json: (key) => jsonLine(SigningKeySchema, key),
  none: 'no secrets',
}

const listSecrets: AccessWork = async (context, access) => {
  const { keys } = await access.listSigningKeys({ projectId: await projectNamed(context, access) })
  await printList(context, secretShape, [keys])
}

function changeGrants(change: 'grantEndpoints' | 'revokeGrants'): AccessWork {
  return async (context, access) => {
    const [institution, ...endpoints] = context.operands
    if (institution === undefined || endpoints.length === 0) {
      throw new UsageError('pass an institution and at least one endpoint')
    }
    const projectId = await projectNamed(context, access)
    const institutionId = await institutionNamed(context, access, institution)
    await access[change]({ projectId, institutionId, endpoints })
    const { grants } = await access.listGrants({ projectId, institutionId })
    await printList(context, grantShape, [grants])
  }
}

const listGrants: AccessWork = async (context, access) => {
  const [institution, ...more] = context.operands
  if (more.length > 0) throw new UsageError('pass one institution, or none')
  const projectId = await projectNamed(context, access)
  const institutionId =
    institution === undefined ? '' : await institutionNamed(context, access, institution)
  const { grants } = await access.listGrants({ projectId, institutionId })
  await printList(context, grantShape, [grants])
}

const grantShape: ListShape<Grant> = {
  headings: ['ENDPOINT', 'INSTITUTION', 'SINCE'],
  cells: (grant) => [grant.endpoint, printable(grant.institutionName), time(grant.grantTime)],
  json: (grant) => jsonLine(GrantSchema, grant),
  none: 'no grants',
}

function printInstitution({ print }: CommandContext, institution: Institution | undefined): void {
  if (institution === undefined) return
  print(`institution     ${institution.institutionId}`)
  print(`name            ${printable(institution.name)}`)
  print(`environment     ${wordOf(Environment, institution.environment)}`)
  print(`currency        ${institution.defaultCurrency}`)
}

function printKey({ print }: CommandContext, key: InstitutionKey | undefined): void {
  if (key === undefined) return
  print(`key id          ${key.keyId}`)
  print(`shared key      ${key.sharedKey}`)
  print(`signing secret  ${key.signingSecret}`)
}
