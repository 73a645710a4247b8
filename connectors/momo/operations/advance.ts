// Moves a request on by one call to MTN: sends it, or enquires about it. What an answer does not prove is not believed.
import type { Database } from '#platform/db/db.ts'
import type { Work } from '../../kit/domain/work.ts'
import { holdWork } from '../../kit/store/work-store.ts'
import { NotYet, Refused } from '../../kit/workers/worker.ts'
import { differenceOf } from '../domain/moved.ts'
import { isLost, nextStep, type Product, pauseMs, type RequestProgress } from '../domain/request.ts'
import type { Momo, Order } from '../ports/momo.ts'
import { findRequest, recordAccepted, recordRefused, recordSent } from '../store/request-store.ts'

/** What is asked of MTN, but for its reference. */
export type Wanted = Omit<Order, 'reference'> & Pick<RequestProgress, 'ageMs' | 'isWanted'>

/** How a request has ended: with the code of its failure, or undefined when the money moved. */
export type RequestEnd = { failure: string | undefined }

/** Sent to nobody, or lost on the way. */
const neverArrived = 'SERVICE_UNAVAILABLE'

/**
 * Rejects with NotYet as long as it has not ended, as the port does when MTN does not answer, when another worker has
 * claimed the work, and with Refused when MTN says that other money has moved than was asked for: an operator must look.
 */
export async function advance(
  { db, momo, work }: { db: Database; momo: Momo; work: Work },
  product: Product,
  wanted: Wanted,
): Promise<RequestEnd> {
  const { externalId: subject } = wanted
  const { reference, ...stored } = await findRequest(db, subject)
  const progress: RequestProgress = { ...wanted, ...stored }
  const step = nextStep(progress)
  if (step === 'send') {
    // Others may have found it unsent after our lease, and given it up: then it must not be sent.
    await db.transaction(async (tx) => {
      await holdWork(tx, work)
      await recordSent(tx, subject)
    })
    const refusal = await momo.send(product, { ...wanted, reference })
    if (refusal !== undefined && stored.sentAgeMs === null) return { failure: refusal }
    if (refusal === undefined) await recordAccepted(db, subject, reference)
    // An earlier call that had no answer may have been accepted, though this one is refused.
    else await recordRefused(db, subject, { reference, code: refusal })
    throw new NotYet(pauseMs(progress))
  }
  const found = step === 'lost' ? undefined : await momo.enquire(product, reference)
  if (found === undefined && isLost(progress)) return { failure: stored.refusal ?? neverArrived }
  if (found?.status === 'pending' && !stored.isAccepted)
    await recordAccepted(db, subject, reference)
  if (found === undefined || found.status === 'pending') throw new NotYet(pauseMs(progress))
  if (found.status === 'failed') return { failure: found.code }
  const difference = differenceOf(wanted, found.moved)
  if (difference !== undefined)
    throw new Refused(`MTN says SUCCESSFUL with another ${difference} for ${subject}`)
  return { failure: undefined }
}
