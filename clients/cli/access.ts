// Helpers of the commands on access: the client of accounts, names of projects and institutions, repeats.
import { randomUUID } from 'node:crypto'
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { type CommandContext, optionsFor } from './command.ts'
import { connect, isUnauthenticated } from './connection.ts'
import { valueOf } from './output/print.ts'
import { UsageError } from './usage-error.ts'

/** Options of every command that calls accounts. */
export const accountsOptions = optionsFor('accounts')

/** Options of commands that take names, which are unique in their environment. */
export const namingOptions = {
  ...accountsOptions,
  environment: 'environment in which names are looked up: sandbox or production (sandbox)',
} as const

/** The option that names the project. */
export const projectOption = { project: 'UUID or name of the project' } as const

/** The option of commands that make something, for a repeat after a lost answer. */
export const onceOption = {
  'request-id': 'idempotency key, a UUID: a repeat creates nothing new',
} as const

type Access = Client<typeof AccessService>

/** A command's work on access. */
export type AccessWork = (context: CommandContext, access: Access) => Promise<void>

/**
 * Does work over a connection to accounts and closes it. Rejects with a UsageError as `connect` does, and with what the
 * work rejects with.
 */
export async function withAccess(context: CommandContext, work: AccessWork): Promise<void> {
  const connection = connect(context.options, context.env, 'accounts')
  try {
    await work(context, connection.client(AccessService))
  } finally {
    await connection.close()
  }
}

/** The environment that is meant, sandbox by default. Throws a UsageError for any other word. */
export function environmentOf({ options }: CommandContext): Environment {
  return valueOf(Environment, options['environment'] ?? 'sandbox', 'environment')
}

/**
 * UUID of the project with this name, or the UUID that was given. Rejects with a UsageError without `--project`, with
 * PROJECT_NOT_FOUND for an unknown name, and with the Failure of the RPC.
 */
export async function projectNamed(
  context: CommandContext,
  access: Access,
  word = context.options['project'],
): Promise<string> {
  if (word === undefined) throw new UsageError('--project is missing')
  if (isUuid(word)) return word
  const { projects } = await access.listProjects({
    name: word,
    environment: environmentOf(context),
  })
  const [project] = projects
  if (project !== undefined) return project.projectId
  throw new Failure('PROJECT_NOT_FOUND', 'no project has this name in the environment')
}

/**
 * UUID of the institution with this name, or the UUID that was given. Rejects with INSTITUTION_NOT_FOUND for an unknown
 * name, and with the Failure of the RPC.
 */
export async function institutionNamed(
  context: CommandContext,
  access: Access,
  word: string,
): Promise<string> {
  if (isUuid(word)) return word
  const { institutions } = await access.listInstitutions({
    name: word,
    environment: environmentOf(context),
  })
  const [institution] = institutions
  if (institution !== undefined) return institution.institutionId
  throw new Failure('INSTITUTION_NOT_FOUND', 'no institution has this name in the environment')
}

/**
 * Makes something under a request id, so that a repeat makes nothing new, and says how to repeat it when the outcome is
 * unknown. Rejects with a UsageError for a bad `--request-id`, and with what `make` rejects with.
 */
export async function once<T>(
  { options, warn }: CommandContext,
  make: (requestId: string) => Promise<T>,
): Promise<T> {
  const requestId = options['request-id'] ?? randomUUID()
  if (!isUuid(requestId)) throw new UsageError('--request-id must be a UUID')
  try {
    return await make(requestId)
  } catch (error) {
    if (error instanceof Failure && lost.has(error.reason) && !isUnauthenticated(error)) {
      warn(`the outcome is unknown; run it again with --request-id ${requestId}`)
    }
    throw error
  }
}

const lost = new Set(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'INTERNAL_ERROR'])

/** The only operand of a command. Throws a UsageError that names `what` when there is none, or another one. */
export function oneOperand({ operands }: CommandContext, what: string): string {
  const [operand] = operands
  if (operand === undefined || operands.length > 1) throw new UsageError(`pass one ${what}`)
  return operand
}
