// A fake back end that records the customer data submitted to it and can be made to fail. No business logic here.
import type { MessageShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type {
  RequestConsentRequestSchema,
  ReviewService,
  SubmitOnboardingRequestSchema,
} from '#gen/payweave/backend/v1/reviews_pb.js'

/** A back end whose calls fail as often as a test says. */
export function newReviewBackend() {
  const submitted: MessageShape<typeof SubmitOnboardingRequestSchema>[] = []
  const asked: MessageShape<typeof RequestConsentRequestSchema>[] = []
  const failures = new Map<string, number>()
  const reviews: ServiceImpl<typeof ReviewService> = {
    async submitOnboarding(request) {
      submitted.push(request)
      fail(request.mobileNumber)
      return {}
    },
    async requestConsent(request) {
      asked.push(request)
      fail(request.mobileNumber)
      return {}
    },
  }
  function fail(mobileNumber: string): void {
    const left = failures.get(mobileNumber) ?? 0
    if (left === 0) return
    failures.set(mobileNumber, left - 1)
    throw new Failure('SERVICE_UNAVAILABLE', 'not now')
  }
  return {
    reviews,
    submitted,
    asked,
    /** Lets the next calls about a number fail after they were heard. */
    failNext(mobileNumber: string, count: number) {
      failures.set(mobileNumber, count)
    },
  }
}
