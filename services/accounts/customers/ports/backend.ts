// The back end as customers use it, over payweave.backend.v1.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import type { ListedArtefact } from '../domain/account.ts'
import type { ConsentRequest, Submission } from '../domain/review.ts'

/** A profile to be reviewed. */
export type ReviewOrder = Omit<Submission, 'detailsSealed'> & {
  details: Record<string, string>
  artefacts: ListedArtefact[]
}

/** What customers ask of the outside world. Every call may be repeated. */
export type ReviewBackend = {
  submit(order: ReviewOrder): Promise<void>
  requestConsent(request: ConsentRequest): Promise<void>
}

/** The port over the back end's RPC client. */
export function reviewBackend(reviews: Client<typeof ReviewService>): ReviewBackend {
  return {
    async submit(order) {
      await reviews.submitOnboarding(order)
    },
    async requestConsent({ expireTime, ...request }) {
      await reviews.requestConsent({ ...request, expireTime: timestampFromDate(expireTime) })
    },
  }
}
