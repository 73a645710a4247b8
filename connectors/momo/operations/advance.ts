// Moves a request on by one call to MTN: sends it, or enquires about it. What an answer does not prove is not believed.

import type { Database } from '#platform/db/db.ts'
import { NotYet } from '../../kit/workers/worker.ts'
import { isLost, nextStep, pauseMs, type RequestProgress } from '../domain/request.ts'
import type { Momo, Order, Product } from '../ports/momo.ts'
import { findRequest, recordAccepted, recordSent } from '../store/request-store.ts'

/** What is asked of MTN, but for its reference. */
export type Wanted = Omit<Order, 'reference'> & Pick<RequestProgress, 'ageMs' | 'isWanted'>

/** How a request has ended: with the code of its failure, or undefined when the money moved. */
export type RequestEnd = { failure: string | undefined }

/** Sent to nobody, or lost on the way. */
const neverArrived: RequestEnd = { failure: 'SERVICE_UNAVAILABLE' }

/** Rejects with NotYet as long as it has not ended, and as the port does when MTN does not answer. */
export async function advance(
  { db, momo }: { db: Database; momo: Momo },
  product: Product,
  wanted: Wanted,
): Promise<RequestEnd> {
  const { externalId: subject } = wanted
  const { reference, ...stored } = await findRequest(db, subject)
  const progress: RequestProgress = { ...wanted, ...stored }
  const step = nextStep(progress)
  if (step === 'lost') return neverArrived
  if (step === 'send') {
    await recordSent(db, subject)
    const refusal = await momo.send(product, { ...wanted, reference })
    if (refusal === undefined) {
      await recordAccepted(db, subject)
      throw new NotYet(pauseMs(progress))
    }
    // An earlier call that had no answer may have been accepted, even if this one is refused.
    if (stored.sentAgeMs === null) return { failure: refusal }
    const found = await momo.enquire(product, reference)
    if (found === undefined) return { failure: refusal }
    return endOf(found, progress)
  }
  const found = await momo.enquire(product, reference)
  if (found !== undefined) return endOf(found, progress)
  if (isLost(progress)) return neverArrived
  throw new NotYet(pauseMs(progress))
}

function endOf(
  found: NonNullable<Awaited<ReturnType<Momo['enquire']>>>,
  progress: RequestProgress,
): RequestEnd {
  if (found.status === 'pending') throw new NotYet(pauseMs(progress))
  return { failure: found.status === 'failed' ? found.code : undefined }
}
