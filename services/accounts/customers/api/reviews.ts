// Maps payweave.accounts.v1.ReviewReportService to the domain and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid } from '#core/errors/errors.ts'
import { RegistrationStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type {
  OnboardingCompleted,
  ReportOnboardingRequest,
  ReviewReportService,
} from '#gen/payweave/accounts/v1/review_report_pb.js'
import { checkReporter, currentReporter } from '#platform/rpc/auth/reporter.ts'
import { artefactBytes } from '../operations/artefact.ts'
import { type Customers } from '../operations/customers.ts'
import { reportConsent } from '../operations/registration.ts'
import { endOnboarding, type ReviewOutcome } from '../operations/review.ts'
import { fundsAccessOf } from './messages.ts'

const answers: Partial<Record<RegistrationStatus, 'approved' | 'rejected'>> = {
  [RegistrationStatus.APPROVED]: 'approved',
  [RegistrationStatus.REJECTED]: 'rejected',
}

/**
 * The handlers of ReviewReportService; a repeated report changes nothing. All refuse an unknown review, challenge or
 * artefact, and each call of a connector other than the back end, with REVIEW_NOT_FOUND, and bad fields with INVALID_PARAMETER.
 */
export function reviewReportService(customers: Customers): ServiceImpl<typeof ReviewReportService> {
  const { log, settings } = customers
  const check = (kind: string) => {
    const unknown = () => new Failure('REVIEW_NOT_FOUND', `there is no such ${kind}`)
    checkReporter(currentReporter(), { kind, owner: settings.backendName, unknown }, log)
  }
  return {
    async reportOnboarding({ reviewId, outcome }) {
      check('review')
      await endOnboarding(customers, reviewId, outcomeOf(outcome))
      return {}
    },
    async reportConsent({ challengeId, answer: wire }) {
      check('challenge')
      const answer = answers[wire]
      if (answer === undefined) throw invalid('answer', 'must be approved or rejected')
      await reportConsent(customers, challengeId, answer)
      return {}
    },
    async *readArtefact({ reviewId, artefactId }) {
      check('artefact')
      for await (const chunk of artefactBytes(customers, reviewId, artefactId)) yield { chunk }
    },
  }
}

function outcomeOf(outcome: ReportOnboardingRequest['outcome']): ReviewOutcome {
  if (outcome.case === 'rejected') return { rejected: { reason: outcome.value.reason } }
  if (outcome.case !== 'completed') throw invalid('outcome', 'is required')
  return acceptedOutcome(outcome.value)
}

/** The outcome of an accepted profile. INVALID_PARAMETER without a funds access. */
export function acceptedOutcome({
  accountLevel: level,
  fundsAccessStatus,
  currency,
}: OnboardingCompleted): ReviewOutcome {
  const fundsAccess = fundsAccessOf(fundsAccessStatus)
  if (fundsAccess === undefined) throw invalid('funds_access_status', 'is required')
  return { completed: { level, fundsAccess, currency } }
}
