// Reviews due profiles: reads their artefacts, then decides. The reader is injected.

import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import type { Loop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Artefact, decideReview, faultOf, type ReviewVerdict } from '../domain/review.ts'
import type { ReadArtefact } from '../ports/peers.ts'
import {
  claimReviews,
  type DueReview,
  endReview,
  postponeReview,
  waitForNextReview,
} from '../store/review-store.ts'
import { startDuePoll } from './poll.ts'

const batch = 20
/** For all artefacts of one profile. */
const readWithinMs = 10_000
/** Longer than the reading, so that two reviewers rarely have one profile. */
const leaseMs = 15_000
const firstDelayMs = 250
const maxDelayMs = 10_000
/** Failures inside accounts, over half a minute, after which an artefact counts as broken. */
const failuresUntilBroken = 10

export type ReviewerOptions = {
  db: Database
  log: Logger
  readArtefact: ReadArtefact
  /** Called when a report to accounts is due. */
  reportsWritten: () => void
}

/** Reviews until closed. */
export function startReviewer(options: ReviewerOptions): Loop {
  const { db, log } = options
  return startDuePoll({
    kind: 'reviews',
    log,
    waitMs: () => waitForNextReview(db),
    async workOff() {
      const due = await claimReviews(db, batch, leaseMs)
      await Promise.all(due.map((review) => reviewOne(options, review)))
    },
  })
}

async function reviewOne(options: ReviewerOptions, review: DueReview): Promise<void> {
  const { db, log, reportsWritten } = options
  const { reviewId, tries } = review
  const verdict = await weigh(options, review)
  if (typeof verdict !== 'string') {
    await endReview(db, reviewId, verdict)
    reportsWritten()
    return
  }
  if (tries === 1) log.warn({ kind: 'review', reason: verdict }, 'artefact could not be read yet')
  await postponeReview(db, reviewId, Math.min(maxDelayMs, firstDelayMs * 2 ** (tries - 1)))
}

/** The verdict, or the reason why there is none yet. */
async function weigh(
  { readArtefact }: ReviewerOptions,
  { reviewId, mobileNumber, artefacts, tries }: DueReview,
): Promise<ReviewVerdict | string> {
  const signal = AbortSignal.timeout(readWithinMs)
  try {
    for (const artefact of artefacts) {
      const read = await readWhole(readArtefact(reviewId, artefact.artefactId, signal), artefact)
      const fault = faultOf(artefact, read)
      if (fault !== undefined) return { outcome: 'rejected', reason: fault }
    }
  } catch (error) {
    const reason = error instanceof Failure ? error.reason : 'INTERNAL_ERROR'
    if (signal.aborted) return 'TIMEOUT'
    if (reason === 'TIMEOUT' || reason === 'SERVICE_UNAVAILABLE') return reason
    if (reason === 'INTERNAL_ERROR' && tries < failuresUntilBroken) return reason
    return { outcome: 'rejected', reason: 'an artefact cannot be read' }
  }
  return decideReview(mobileNumber, artefacts)
}

/** Length of the longest signature by which media types are recognised. */
const openingBytes = 8

/** Counts the bytes and keeps the first few; one that is longer than announced is not read on. */
async function readWhole(chunks: AsyncIterable<Uint8Array>, artefact: Artefact) {
  let sizeBytes = 0
  let opening = Buffer.alloc(0)
  for await (const chunk of chunks) {
    sizeBytes += chunk.byteLength
    if (opening.length < openingBytes) opening = Buffer.concat([opening, chunk])
    if (sizeBytes > artefact.sizeBytes) break
  }
  return { sizeBytes, opening }
}
