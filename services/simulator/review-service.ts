// Maps backend.v1.ReviewService to the domain; it must not hold a rule or a statement.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { ReviewArtefact, ReviewService } from '#gen/backend/v1/reviews_pb.js'
import type { Database } from '#runtime/db.ts'
import { readMobileNumber, refuse, requireText, requireUuid } from './request.ts'
import {
  type Artefact,
  type ArtefactField,
  answerOf,
  decideAfterMs,
  isDecided,
  type MediaType,
  openings,
  provenBy,
} from './review.ts'
import { insertConsent, insertReview } from './review-store.ts'

/** What the handlers need of the process. */
export type ReviewContext = {
  db: Database
  /** Called when a profile waits for a decision. */
  reviewsWritten: () => void
  /** Called when somebody was asked. */
  consentsWritten: () => void
}

const artefactsMost = 8
const largestArtefactBytes = 64n * 1024n * 1024n

/** The handlers of backend.v1.ReviewService. */
export function reviewService(context: ReviewContext): ServiceImpl<typeof ReviewService> {
  const { db, reviewsWritten, consentsWritten } = context
  return {
    async submitOnboarding({ reviewId, institutionName, mobileNumber, artefacts }) {
      if (artefacts.length > artefactsMost) refuse('artefacts')
      await insertReview(db, {
        reviewId: requireUuid(reviewId, 'review_id'),
        institutionName: requireText(institutionName, 'institution_name'),
        mobileNumber: readMobileNumber(mobileNumber),
        artefacts: artefacts.map(readArtefact),
        decideAfterMs: isDecided(mobileNumber) ? decideAfterMs : undefined,
      })
      reviewsWritten()
      return {}
    },
    async requestConsent({ challengeId, institutionName, mobileNumber, clientName, expireTime }) {
      if (expireTime === undefined) refuse('expire_time')
      await insertConsent(db, {
        challengeId: requireUuid(challengeId, 'challenge_id'),
        institutionName: requireText(institutionName, 'institution_name'),
        mobileNumber: readMobileNumber(mobileNumber),
        clientName: requireText(clientName, 'client_name'),
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
  if (!Object.hasOwn(provenBy, field)) refuse('artefacts.field')
  if (!Object.hasOwn(openings, mediaType)) refuse('artefacts.media_type')
  if (sizeBytes <= 0n || sizeBytes > largestArtefactBytes) refuse('artefacts.size_bytes')
  return {
    artefactId: requireUuid(artefactId, 'artefacts.artefact_id'),
    field: field as ArtefactField,
    mediaType: mediaType as MediaType,
    sizeBytes: Number(sizeBytes),
  }
}
