// Maps payweave.accounts.v1.OnboardingService to the domain and back.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid } from '#core/errors/errors.ts'
import { pageOf, pageSizeOf } from '#core/paging.ts'
import type { OnboardingService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { actor } from '../../access/operations/change.ts'
import { artefactBytes } from '../operations/artefact.ts'
import type { Customers } from '../operations/customers.ts'
import { endOnboarding, openDetails } from '../operations/review.ts'
import { listArtefacts } from '../store/artefact-store.ts'
import {
  type Duplicate,
  findDuplicates,
  findOpenReview,
  listOpenReviews,
  type OpenReview,
} from '../store/review-store.ts'
import { accountStatusNumber, endedStatuses } from './messages.ts'
import { acceptedOutcome } from './reviews.ts'

const maxDuplicates = 10

/**
 * The handlers of OnboardingService. They refuse an unknown review, and all but decideOnboarding one that has ended,
 * with REVIEW_NOT_FOUND, bad fields with INVALID_PARAMETER, and reject as a Queryable does.
 */
export function onboardingService(customers: Customers): ServiceImpl<typeof OnboardingService> {
  const { db } = customers
  return {
    async listOnboardings({ reviewId, pageSize, pageToken }) {
      const size = pageSizeOf(pageSize)
      const found =
        reviewId === ''
          ? await listOpenReviews(db, pageToken || undefined, size + 1)
          : [await findOpenReview(db, reviewId)].filter((review) => review !== undefined)
      const { rows, nextPageToken } = pageOf(found, size, ({ reviewId }) => reviewId)
      return { onboardings: rows.map(onboardingMessage), nextPageToken }
    },
    async getOnboarding({ reviewId }) {
      const review = await findOpenReview(db, reviewId)
      if (review === undefined)
        throw new Failure('REVIEW_NOT_FOUND', 'review not found, or not open')
      const [artefacts, found] = await Promise.all([
        listArtefacts(db, reviewId),
        findDuplicates(db, reviewId, maxDuplicates),
      ])
      const details = openDetails(customers, review)
      const duplicates = found.map(duplicateMessage)
      return { onboarding: { ...onboardingMessage(review), details, artefacts, duplicates } }
    },
    async decideOnboarding({ reviewId, outcome, reason: given }) {
      const reason = given.trim()
      if (reason === '') throw invalid('reason', 'must say on what evidence')
      const ended = await endOnboarding(
        customers,
        reviewId,
        outcome.case === 'completed' ? acceptedOutcome(outcome.value) : { rejected: { reason } },
        { ...actor(), reason },
      )
      return { status: endedStatuses[ended] }
    },
    async *readOnboardingArtefact({ reviewId, artefactId }) {
      for await (const chunk of artefactBytes(customers, reviewId, artefactId)) yield { chunk }
    },
  }
}

function onboardingMessage(review: OpenReview) {
  const { detailsSealed: _, createTime, ...shown } = review
  return { ...shown, createTime: timestampFromDate(createTime) }
}

function duplicateMessage({ createTime, status, ...duplicate }: Duplicate) {
  return {
    ...duplicate,
    status: accountStatusNumber(status),
    createTime: timestampFromDate(createTime),
  }
}
