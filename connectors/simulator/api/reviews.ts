// Maps payweave.backend.v1.ReviewService to the domain.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ReviewArtefact, ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import type { Database } from '#platform/db/db.ts'
import { refuse, rolledUpId } from '../../kit/api/request.ts'
import {
  type Artefact,
  type ArtefactField,
  answerOf,
  decideAfterMs,
  isDecided,
  type MediaType,
} from '../domain/review.ts'
import { insertConsent, insertReview } from '../store/review-store.ts'

/** What the handlers need of the process. */
export type ReviewContext = {
  db: Database
  /** Called when a profile waits for a decision. */
  reviewsWritten: () => void
  /** Called when an account holder was asked for consent. */
  consentsWritten: () => void
}

/**
 * The handlers of payweave.backend.v1.ReviewService. `requestConsent` refuses a request without an expiry with
 * INVALID_PARAMETER; both reject as a Queryable does.
 */
export function reviewService(context: ReviewContext): ServiceImpl<typeof ReviewService> {
  const { db, reviewsWritten, consentsWritten } = context
  return {
    async submitOnboarding({ reviewId, institutionName, mobileNumber, artefacts }) {
      await insertReview(db, {
        reviewId: rolledUpId(reviewId),
        institutionName: institutionName,
        mobileNumber: mobileNumber,
        artefacts: artefacts.map(readArtefact),
        decideAfterMs: isDecided(mobileNumber) ? decideAfterMs : undefined,
      })
      reviewsWritten()
      return {}
    },
    async requestConsent({ challengeId, institutionName, mobileNumber, clientName, expireTime }) {
      if (expireTime === undefined) refuse('expire_time')
      await insertConsent(db, {
        challengeId: rolledUpId(challengeId),
        institutionName: institutionName,
        mobileNumber: mobileNumber,
        clientName: clientName,
        expireTime: timestampDate(expireTime),
        answer: answerOf(mobileNumber),
        answerAfterMs: decideAfterMs,
      })
      consentsWritten()
      return {}
    },
  }
}

function readArtefact({ artefactId, field, mediaType, sizeBytes }: ReviewArtefact): Artefact {
  return {
    artefactId: rolledUpId(artefactId),
    field: field as ArtefactField,
    mediaType: mediaType as MediaType,
    sizeBytes: Number(sizeBytes),
  }
}
