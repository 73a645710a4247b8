// Helpers of the commands on keys: the folder of lists, the services, and waiting until processes have loaded a list.
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { KeyReader } from '#gen/payweave/keys/v1/keys_pb.js'
import { operatorFile } from '../../../deploy/bootstrap/installation.ts'
import {
  installationKeyFolder,
  type KeyFolder,
  localKeyFolder,
} from '../../../deploy/bootstrap/key-folder.ts'
import { keyFileNames } from '../../../deploy/bootstrap/lasting-secrets.ts'
import { openVault, type Vault } from '../../../deploy/bootstrap/vault.ts'
import type { CommandContext } from '../command.ts'
import { isPassing } from '../connection.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { changeVault } from '../vault-change.ts'
import { type KeyServices, keyServices } from './services.ts'

/** Dependencies of a command on keys. */
export type KeyWork = { context: CommandContext; folder: KeyFolder; services: KeyServices }

type Run = (work: KeyWork) => Promise<number | void>

/**
 * Opens the folder to read it, and the services, and resolves to the result of the work. Rejects with a VaultError for
 * a folder that cannot be used, and with what the work rejects with.
 */
export async function withKeys(context: CommandContext, work: Run): Promise<number | void> {
  const { out } = context.options
  if (out === undefined) return runLocally(context, work)
  return runOn(context, openVault(out), work)
}

/**
 * Opens the folder to change it, and the services, and resolves to the result of the work; an installation's manifests
 * follow. Rejects as `withKeys` and `changeVault` do.
 */
export async function changingKeys(context: CommandContext, work: Run): Promise<number | void> {
  const { options, print, warn, json } = context
  try {
    if (options['out'] === undefined) return await runLocally(context, work)
    let code: number | void = undefined
    const vault = await changeVault(context, async (opened) => {
      code = await runOn(context, opened, work)
    })
    if (!json) for (const file of new Set(vault.changes)) print(`wrote    ${file}`)
    return code
  } catch (error) {
    if (isPassing(error)) {
      warn('nothing was changed; --now continues without asking the services')
    }
    throw error
  }
}

function runLocally(context: CommandContext, work: Run): Promise<number | void> {
  const { options, env } = context
  const dataDir = options['data-dir'] ?? env['PAYWEAVE_DATA_DIR'] ?? '.payweave'
  return run(context, localKeyFolder(path.resolve(dataDir)), undefined, work)
}

function runOn(context: CommandContext, vault: Vault, work: Run): Promise<number | void> {
  const token = vault.has(operatorFile) ? vault.read(operatorFile) : undefined
  return run(context, installationKeyFolder(vault), token, work)
}

async function run(
  context: CommandContext,
  folder: KeyFolder,
  operatorToken: string | undefined,
  work: Run,
): Promise<number | void> {
  const services = keyServices(context, operatorToken)
  try {
    return await work({ context, folder, services })
  } finally {
    await services.close()
  }
}

/**
 * The lists that were named: by process and file, by the file alone where only one process has it, or `all`. Throws a
 * UsageError for anything else.
 */
export function namedLists(words: readonly string[]): string[] {
  if (words.length === 1 && words[0] === 'all') return [...keyFileNames]
  return words.map((word) => {
    const found = keyFileNames.filter((name) => name === word || name.endsWith(`/${word}`))
    const [name] = found
    if (name !== undefined && found.length === 1) return name
    const known = found.length > 1 ? found : keyFileNames
    throw new UsageError(`${word} must be one of ${known.join(', ')}`)
  })
}

/**
 * Default seconds to wait: local processes check files once a second; the kubelet brings a changed Secret within two
 * minutes.
 */
const waitS = { local: 30, installation: 180 } as const
const askAgainMs = 250

/**
 * Waits until every process that has read a list is as `wanted` says. Rejects with an Error that names the others after
 * `--within` or when the person ends it, with a UsageError for a bad `--within`, and as `KeyServices.look` does.
 */
export async function waitForReaders(
  { context, folder, services }: KeyWork,
  name: string,
  wanted: { is: (reader: KeyReader) => boolean; words: string },
): Promise<void> {
  const { options, stopping, warn } = context
  const within = options['within']
  const limitS = within === undefined ? waitS[folder.kind] : wholeNumber(within, 'within', 86_400)
  const untilMs = Date.now() + limitS * 1_000
  let announced = 0
  for (;;) {
    const { readers } = await services.look(name)
    const others = readers.filter((reader) => !wanted.is(reader))
    if (others.length === 0) return
    if (others.length !== announced) {
      warn(`waiting for ${others.length} of ${readers.length} processes to ${wanted.words}`)
    }
    announced = others.length
    if (Date.now() > untilMs || stopping.aborted) {
      const names = others.map(({ instance }) => instance).join(', ')
      throw new Error(`${names} did not ${wanted.words}${hint(folder)}`)
    }
    await delay(askAgainMs, undefined, { signal: stopping }).catch(() => undefined)
  }
}

function hint({ kind }: KeyFolder): string {
  return kind === 'local' ? '' : ': deploy the changed files to every process, then run it again'
}
