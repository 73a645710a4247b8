// Keeps what the receivers store within a quota for each tag and one for the process, by deleting the oldest requests.
import type { Database } from '#platform/db/db.ts'
import { deleteOldReceived, type Quota, trimTag } from '../store/receiver-store.ts'

/** How much of what was received is kept. */
export type ReceiverQuotas = {
  perTag: Quota
  total: Quota
  /** How many tags have their arrivals counted in memory. */
  maxTags: number
}

/** The log of one tag holds 64 MiB, all logs hold 1 GiB. */
export const receiverQuotas: ReceiverQuotas = {
  perTag: { requests: 10_000, bytes: 64 * 1024 * 1024 },
  total: { requests: 100_000, bytes: 1024 * 1024 * 1024 },
  maxTags: 10_000,
}

/** A quota may be exceeded by this part of it before the oldest requests are deleted. */
const slack = 1 / 16
// Rows of up to 270 KiB: a statement ends well within its limit.
const deletedAtOnce = 200

/** Enforces the quotas of one process. */
export type ReceiverQuota = {
  /**
   * Makes room for a request of a tag: call it before the request is stored. Most calls return at once; one that comes
   * when a sixteenth of a quota has arrived waits until the oldest requests are deleted.
   *
   * @throws when the database fails; the next call tries again.
   */
  makeRoom(tag: string, bytes: number): Promise<void>
}

/** Arrivals since the oldest were last deleted. */
type Meter = { arrived: Quota; trimming: Promise<void> | undefined }

/** Makes the quotas of one process on a database. */
export function createReceiverQuota(db: Database, quotas = receiverQuotas): ReceiverQuota {
  const { perTag, total, maxTags } = quotas
  const tags = new Map<string, Meter>()
  const all: Meter = fullMeter(total)

  function meterOf(tag: string): Meter {
    const known = tags.get(tag)
    if (known !== undefined) return known
    // A tag that is forgotten is trimmed with its next request.
    if (tags.size >= maxTags) tags.clear()
    const meter = fullMeter(perTag)
    tags.set(tag, meter)
    return meter
  }

  return {
    async makeRoom(tag, bytes) {
      const meter = meterOf(tag)
      await count(meter, bytes, perTag, () => trimTag(db, tag, perTag, deletedAtOnce))
      await count(all, bytes, total, () => deleteOldReceived(db, deletedAtOnce, total))
    },
  }
}

/** What was stored before is unknown, so the first request has it trimmed. */
function fullMeter(quota: Quota): Meter {
  return { arrived: { ...quota }, trimming: undefined }
}

async function count(
  meter: Meter,
  bytes: number,
  quota: Quota,
  deleteSome: () => Promise<number>,
): Promise<void> {
  while (isDue(meter, quota)) {
    meter.trimming ??= trim(meter, deleteSome).finally(() => {
      meter.trimming = undefined
    })
    await meter.trimming
  }
  meter.arrived.requests += 1
  meter.arrived.bytes += bytes
}

function isDue({ arrived }: Meter, { requests, bytes }: Quota): boolean {
  return arrived.requests >= requests * slack || arrived.bytes >= bytes * slack
}

/** Deletes until nothing is beyond the quota. Requests that arrive meanwhile count for the next time. */
async function trim(meter: Meter, deleteSome: () => Promise<number>): Promise<void> {
  const before = meter.arrived
  meter.arrived = { requests: 0, bytes: 0 }
  try {
    while ((await deleteSome()) === deletedAtOnce);
  } catch (error) {
    meter.arrived.requests += before.requests
    meter.arrived.bytes += before.bytes
    throw error
  }
}
