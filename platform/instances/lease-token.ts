// Makes lease tokens that name their owner: the first half is that of the instance's id, the second half is random.
import { randomUUID } from 'node:crypto'

const half = 'xxxxxxxx-xxxx-xxxx'.length

/** A token for the leases of one claim of the instance. */
export function leaseToken(instanceId: string): string {
  return instanceId.slice(0, half) + randomUUID().slice(half)
}

/** The first and the last token that the instance may make, in the order of the database. */
export function leaseTokensOf(instanceId: string): { first: string; last: string } {
  const owner = instanceId.slice(0, half)
  return { first: `${owner}-0000-000000000000`, last: `${owner}-ffff-ffffffffffff` }
}
