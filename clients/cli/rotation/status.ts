// The command that lists keys, their age, the processes that have read them and what needs them. It changes nothing.

import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Key, KeyState } from '#core/identity/key-ring.ts'
import { type KeyFile, KeyState as WireState } from '#gen/payweave/keys/v1/keys_pb.js'
import { keyFileNames } from '../../../deploy/bootstrap/lasting-secrets.ts'
import type { CommandContext } from '../command.ts'
import { showDependants } from './retire.ts'
import { type KeyWork, namedLists, withKeys } from './work.ts'

const states: Partial<Record<WireState, KeyState>> = {
  [WireState.NEXT]: 'next',
  [WireState.CURRENT]: 'current',
  [WireState.OLD]: 'old',
}

type ShownKey = Pick<Key, 'keyId' | 'state' | 'makeTime'>

/**
 * Runs `keys status`; resolves to 1 when a process has not read the list as it is in the folder. Throws a UsageError
 * for an unknown list; rejects with a VaultError, and with the Failure of an RPC.
 */
export function keyStatus(context: CommandContext): Promise<number | void> {
  const names = context.operands.length === 0 ? keyFileNames : namedLists(context.operands)
  return withKeys(context, async (work) => {
    let isRead = true
    for (const name of names) isRead = (await show(work, name)) && isRead
    if (!isRead) context.warn('a process has not read the list as it is in the folder')
    return isRead ? 0 : 1
  })
}

/** False when a process has read another list than that of the folder. */
async function show({ context, folder, services }: KeyWork, name: string): Promise<boolean> {
  const keys: ShownKey[] = [...folder.read(name).keys]
  const found = services.reaches(name) ? await services.look(name) : undefined
  const isRead = found === undefined || isReadAs(found, keys)
  const { json, print, flags } = context
  if (json) print(JSON.stringify(jsonOf(name, keys, found)))
  else for (const line of linesOf(name, keys, found)) print(line)
  if (!flags.has('count') || found === undefined) return isRead
  for (const one of await services.count(name)) showDependants(context, name, one)
  return isRead
}

function isReadAs({ keys, readers }: KeyFile, wanted: readonly ShownKey[]): boolean {
  const answered = keys.map(({ keyId, state }) => `${keyId} ${states[state]}`)
  const isSame = answered.join() === wanted.map(({ keyId, state }) => `${keyId} ${state}`).join()
  const ids = wanted.map(({ keyId }) => keyId).join()
  return isSame && readers.every(({ keyIds }) => keyIds.join() === ids)
}

const dayMs = 86_400_000

function linesOf(name: string, keys: readonly ShownKey[], found: KeyFile | undefined): string[] {
  return [
    name,
    ...keys.map(({ keyId, state, makeTime }) => {
      const made =
        makeTime === undefined
          ? 'from before key lists'
          : `made ${makeTime.toISOString()}, ${daysOf(makeTime)} days ago`
      return `  ${state.padEnd(7)}  ${keyId}  ${made}`
    }),
    ...(found?.readers ?? []).map(
      ({ instance, keyIds }) => `  read by  ${instance}  ${keyIds.join(' ')}`,
    ),
  ]
}

function jsonOf(name: string, keys: readonly ShownKey[], found: KeyFile | undefined) {
  return {
    file: name,
    keys: keys.map(({ keyId, state, makeTime }) => ({
      key_id: keyId,
      state,
      make_time: makeTime?.toISOString() ?? null,
      age_days: makeTime === undefined ? null : daysOf(makeTime),
    })),
    readers: (found?.readers ?? []).map(({ instance, keyIds, seenTime }) => ({
      instance,
      key_ids: keyIds,
      seen_time: seenTime === undefined ? null : timestampDate(seenTime).toISOString(),
    })),
  }
}

function daysOf(makeTime: Date): number {
  return Math.floor((Date.now() - makeTime.getTime()) / dayMs)
}
