// Makes the reports that a connector owes Payweave: work whose payload is the message of an RPC.
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import {
  ReportConsentRequestSchema,
  ReportOnboardingRequestSchema,
} from '#gen/payweave/accounts/v1/review_report_pb.js'
import { ReportTransferRequestSchema } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import {
  ReportChargeRequestSchema,
  ReportPayoutRequestSchema,
  ReportRefundRequestSchema,
  TransferOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { NewWork } from '../domain/work.ts'

/** The process that a report goes to. */
export type Receiver = 'payments' | 'accounts' | 'institution'

/** The reports by the name of their RPC. */
export const reportMessages = {
  ReportCharge: ReportChargeRequestSchema,
  ReportPayout: ReportPayoutRequestSchema,
  ReportRefund: ReportRefundRequestSchema,
  ReportOnboarding: ReportOnboardingRequestSchema,
  ReportConsent: ReportConsentRequestSchema,
  ReportTransfer: ReportTransferRequestSchema,
} as const satisfies Record<string, DescMessage>

/** A report, as it is written in a transaction: `insertWork(tx, chargeReport({ … }))`. */
export type ReportName = keyof typeof reportMessages

/** A report on a charge. Its key are charge, attempt and outcome, by which Payweave deduplicates too. */
export function chargeReport(report: MessageInitShape<typeof ReportChargeRequestSchema>): NewWork {
  const message = create(ReportChargeRequestSchema, report)
  const { chargeId, attemptId, outcome } = message
  const fact = `${chargeId} ${attemptId} ${outcome}`
  return work(
    'payments',
    'ReportCharge',
    chargeId,
    fact,
    toBinary(ReportChargeRequestSchema, message),
  )
}

/** A report on a payout. The first outcome counts. */
export function payoutReport(report: MessageInitShape<typeof ReportPayoutRequestSchema>): NewWork {
  const message = create(ReportPayoutRequestSchema, report)
  const { payoutId } = message
  return work(
    'payments',
    'ReportPayout',
    payoutId,
    payoutId,
    toBinary(ReportPayoutRequestSchema, message),
  )
}

/** A report on a refund. The first outcome counts, and after COMPLETED also RETURNED. */
export function refundReport(report: MessageInitShape<typeof ReportRefundRequestSchema>): NewWork {
  const message = create(ReportRefundRequestSchema, report)
  const { refundId, outcome } = message
  return work(
    'payments',
    'ReportRefund',
    refundId,
    outcome === TransferOutcome.RETURNED ? `${refundId} returned` : refundId,
    toBinary(ReportRefundRequestSchema, message),
  )
}

/** A report on a review. The first outcome counts. */
export function onboardingReport(
  report: MessageInitShape<typeof ReportOnboardingRequestSchema>,
): NewWork {
  const message = create(ReportOnboardingRequestSchema, report)
  const bytes = toBinary(ReportOnboardingRequestSchema, message)
  return work('accounts', 'ReportOnboarding', message.reviewId, message.reviewId, bytes)
}

/** A report on a consent. The first answer counts. */
export function consentReport(
  report: MessageInitShape<typeof ReportConsentRequestSchema>,
): NewWork {
  const message = create(ReportConsentRequestSchema, report)
  const bytes = toBinary(ReportConsentRequestSchema, message)
  return work('accounts', 'ReportConsent', message.challengeId, message.challengeId, bytes)
}

/** A report on a transfer. The first outcome counts. */
export function transferReport(
  report: MessageInitShape<typeof ReportTransferRequestSchema>,
): NewWork {
  const message = create(ReportTransferRequestSchema, report)
  const bytes = toBinary(ReportTransferRequestSchema, message)
  return work('institution', 'ReportTransfer', message.transferId, message.transferId, bytes)
}

function work(
  receiver: Receiver,
  rpc: ReportName,
  subject: string,
  fact: string,
  payload: Uint8Array,
): NewWork {
  return { kind: `report.${receiver}`, key: `${rpc} ${fact}`, subject, payload }
}
