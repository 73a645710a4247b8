// The command that adds the next key to a list: every process loads it before one uses it.
import { randomBytes } from 'node:crypto'
import { addNextKey, type Key, switchToNextKey } from '#core/identity/key-ring.ts'
import { KeyStep } from '#gen/payweave/accounts/v1/key_administration_pb.js'
import type { CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { changingKeys, type KeyWork, namedLists, waitForReaders } from './work.ts'

/** Maximum time in which the kubelet brings a changed Secret to every pod, with a margin. */
const spreadS = 180

/**
 * Runs `keys rotate`. Throws a UsageError without a known list; rejects with an Error when a step is not due or
 * processes do not read the key in time, with a KeyRingError for a full list, with a VaultError, and with the Failure
 * of an RPC.
 */
export function rotateKeys(context: CommandContext): Promise<number | void> {
  const names = namedLists(context.operands)
  if (names.length === 0) throw new UsageError('pass the name of a list, or all')
  return changingKeys(context, async (work) => {
    for (const name of names) await rotate(work, name)
  })
}

/**
 * Takes both steps at once in a local start. Elsewhere --use takes the second step, when every process has read the next key;
 * --now does not wait for that.
 */
async function rotate(work: KeyWork, name: string): Promise<void> {
  const { flags } = work.context
  const isLocal = work.folder.kind === 'local'
  const waiting = nextKeyOf(work, name)
  if (flags.has('use') && waiting === undefined) {
    throw new Error(`${name} has no next key: run "keys rotate ${name}" without --use first`)
  }
  if (waiting !== undefined && !flags.has('use') && !isLocal) {
    throw new Error(`${name} already has a next key: pass --use`)
  }
  if (waiting === undefined) {
    await add(work, name)
    if (!isLocal && !flags.has('now')) return
  }
  await use(work, name)
}

async function add({ context, folder, services }: KeyWork, name: string): Promise<void> {
  const unchecked = context.flags.has('now')
  const ring = addNextKey(folder.read(name), randomBytes(32), new Date())
  const keyId = nextOf(ring.keys)?.keyId ?? ''
  if (!unchecked) await services.record(name, keyId, KeyStep.ADDED)
  folder.write(name, ring)
  printStep(context, { file: name, step: 'added', key_id: keyId })
  if (folder.kind === 'installation' && !unchecked) {
    context.warn(
      `deploy the changed files to every process, then run "keys rotate ${name} --use" with the same options`,
    )
  }
}

async function use(work: KeyWork, name: string): Promise<void> {
  const { context, folder, services } = work
  const unchecked = context.flags.has('now')
  const next = nextKeyOf(work, name)
  if (next === undefined) throw new Error(`${name} has no next key`)
  const { keyId } = next
  if (!unchecked) {
    await waitUntilKnown(work, name, next)
    await services.record(name, keyId, KeyStep.USED)
  }
  folder.write(name, switchToNextKey(folder.read(name)))
  printStep(context, { file: name, step: 'used', key_id: keyId })
  if (unchecked) context.warn(`${name}: done without asking the services; the audit has no entry`)
  else if (folder.kind === 'local' && services.knows(name)) {
    const is = ({ keyIds }: { keyIds: string[] }) => keyIds[0] === keyId
    await waitForReaders(work, name, { is, words: `use key ${keyId}` })
  }
}

/**
 * Waits until every process has read the next key. Gateways have no database to report in, so their file gets a fixed
 * time.
 */
async function waitUntilKnown(work: KeyWork, name: string, next: Key): Promise<void> {
  const { folder, services } = work
  if (services.knows(name)) {
    const is = ({ keyIds }: { keyIds: string[] }) => keyIds.includes(next.keyId)
    await waitForReaders(work, name, { is, words: `read key ${next.keyId}` })
    return
  }
  // A local start has one gateway, which signs and verifies with the same file.
  if (folder.kind === 'local') return
  const ageS = (Date.now() - (next.makeTime?.getTime() ?? 0)) / 1_000
  if (ageS >= spreadS) return
  throw new Error(
    `${name}: gateways cannot be asked, so wait ${Math.ceil(spreadS - ageS)} s more, until the changed file has reached all of them`,
  )
}

function nextKeyOf({ folder }: KeyWork, name: string): Key | undefined {
  return nextOf(folder.read(name).keys)
}

function nextOf(keys: readonly Key[]): Key | undefined {
  return keys.find(({ state }) => state === 'next')
}

/** Prints one step, as JSON or in columns. */
export function printStep(
  { json, print }: Pick<CommandContext, 'json' | 'print'>,
  step: { file: string; step: string; key_id: string },
): void {
  print(json ? JSON.stringify(step) : `${step.step.padEnd(7)}  ${step.file}  ${step.key_id}`)
}
