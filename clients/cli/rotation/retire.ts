// The command that removes a key from a list, when no process uses it and no stored value needs it.
import { removeKey } from '#core/identity/key-ring.ts'
import { KeyStep } from '#gen/payweave/accounts/v1/key_administration_pb.js'
import type { Dependants } from '#gen/payweave/keys/v1/keys_pb.js'
import type { CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { printStep } from './rotate.ts'
import { changingKeys, type KeyWork, namedLists, waitForReaders } from './work.ts'

/** How long after it was opened a form of a hosted page can be submitted; after that its key is not needed. */
const formLifeS = 2 * 60 * 60
const spreadS = 180

/**
 * Runs `keys retire`. Throws a UsageError without a list and a key id; rejects with a KeyRingError for a key that
 * cannot be removed, with an Error when processes use the key or stored values need it, with a VaultError, and with the
 * Failure of an RPC.
 */
export function retireKey(context: CommandContext): Promise<number | void> {
  const [word, keyId, ...more] = context.operands
  if (word === undefined || keyId === undefined || more.length > 0) {
    throw new UsageError('pass a list and the id of a key')
  }
  const [name = ''] = namedLists([word])
  return changingKeys(context, async (work) => {
    const { folder, services } = work
    const unchecked = context.flags.has('now')
    const left = removeKey(folder.read(name), keyId)
    if (!unchecked) {
      if (services.knows(name)) await refuseWhileNeeded(work, name, keyId)
      else refuseWhileSubmitted(work, name)
      await services.record(name, keyId, KeyStep.RETIRED)
    }
    folder.write(name, left)
    printStep(context, { file: name, step: 'retired', key_id: keyId })
    if (unchecked) context.warn(`${name}: done without asking the services; the audit has no entry`)
    else if (name === 'payments/link.key') {
      context.warn('repeats of ended payments no longer show a link that was derived from this key')
    }
    context.warn('keep a copy of this key for as long as backups of its time')
  })
}

async function refuseWhileNeeded(work: KeyWork, name: string, keyId: string): Promise<void> {
  const { context, services } = work
  const is = ({ keyIds }: { keyIds: string[] }) => keyIds[0] !== keyId
  await waitForReaders(work, name, { is, words: `stop using key ${keyId}` })
  const needing = (await services.count(name)).filter((one) => one.keyId === keyId)
  if (needing.length === 0) return
  for (const one of needing) showDependants(context, name, one)
  const total = needing.reduce((sum, { count }) => sum + count, 0)
  throw new Error(`${total} stored values need key ${keyId} of ${name}; --now retires it anyway`)
}

function refuseWhileSubmitted({ folder }: KeyWork, name: string): void {
  // The previous key signs until every gateway has read the list, and its forms stay valid after that. The list has no time of the
  // switch, which may be long after the current key was made; its file was written then or later.
  const ageS = (Date.now() - folder.writeTime(name).getTime()) / 1_000
  const leftS = spreadS + formLifeS - ageS
  if (leftS <= 0) return
  throw new Error(
    `forms signed with the previous key can be submitted for ${Math.ceil(leftS / 60)} more minutes (${name}); --now retires it anyway`,
  )
}

/** Prints which stored values need a key, with the ids of up to five. */
export function showDependants(
  { json, print }: Pick<CommandContext, 'json' | 'print'>,
  file: string,
  { kind, keyId, count, ids }: Dependants,
): void {
  if (json) print(JSON.stringify({ file, kind, key_id: keyId, count, ids }))
  else
    print(
      `needs    ${file}  ${keyId || 'unknown '}  ${count} × ${kind}: ${ids.slice(0, 5).join(', ')}${count > 5 ? ', …' : ''}`,
    )
}
