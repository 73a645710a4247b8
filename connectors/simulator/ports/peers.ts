// Sends reports to other services and reads from them, by RPC.
import type { Client } from '@connectrpc/connect'
import {
  FundsAccessStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import {
  TransferOutcome as InstitutionOutcome,
  type TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import {
  ChargeOutcome,
  type ChargeReportService,
  TransferOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import { refusalNumber } from '../domain/charge.ts'
import type { Receiver, Report, ReportTo } from '../domain/report.ts'

/** Maximum wait for the answer to one report. */
const reportTimeoutMs = 4_000

/** Delivers one report; throws when it was not accepted. */
export type SendReport = (report: Report) => Promise<void>

/** Streams the bytes of an artefact of a review. */
export type ReadArtefact = (
  reviewId: string,
  artefactId: string,
  signal: AbortSignal,
) => AsyncIterable<Uint8Array>

/** The services that the simulator calls. */
export type PeerClients = {
  payments: Client<typeof ChargeReportService>
  accounts: Client<typeof ReviewReportService>
  institution: Client<typeof TransferReportService>
}

/** The calls that the simulator makes. */
export type Peers = {
  send: Record<Receiver, SendReport>
  readArtefact: ReadArtefact
}

const options = { timeoutMs: reportTimeoutMs }
const artefactTimeoutMs = 10_000

const chargeOutcomes = {
  processing: ChargeOutcome.PROCESSING,
  paid: ChargeOutcome.PAID,
  refused: ChargeOutcome.REFUSED,
} as const
const fundsAccess = { 1: FundsAccessStatus.LIMITED, 2: FundsAccessStatus.FULL } as const
const answers = {
  approved: RegistrationStatus.APPROVED,
  rejected: RegistrationStatus.REJECTED,
} as const
const institutionOutcomes = {
  completed: InstitutionOutcome.COMPLETED,
  failed: InstitutionOutcome.FAILED,
  cancelled: InstitutionOutcome.CANCELLED,
} as const

/** The peers, over clients of their services. */
export function peersOf(clients: PeerClients): Peers {
  const { payments, accounts, institution } = clients
  return {
    send: {
      payments: (report) => reportToPayments(payments, report as ReportTo<'payments'>),
      accounts: (report) => reportToAccounts(accounts, report as ReportTo<'accounts'>),
      institution: (report) => reportToInstitution(institution, report as ReportTo<'institution'>),
    },
    async *readArtefact(reviewId, artefactId, signal) {
      const call = { signal, timeoutMs: artefactTimeoutMs }
      for await (const { chunk } of accounts.readArtefact({ reviewId, artefactId }, call)) {
        yield chunk
      }
    },
  }
}

async function reportToPayments(
  payments: PeerClients['payments'],
  report: ReportTo<'payments'>,
): Promise<void> {
  const { kind, subjectId } = report
  if (kind === 'charge') {
    const { attemptId, paymentMethod: method, refusal } = report
    const outcome = chargeOutcomes[report.outcome]
    const paymentMethod = method === 'card' ? PaymentMethod.CARD : PaymentMethod.UNSPECIFIED
    const refusalReason = refusalNumber(refusal)
    const charge = { chargeId: subjectId, attemptId, outcome, paymentMethod, refusalReason }
    await payments.reportCharge(charge, options)
    return
  }
  const outcome = TransferOutcome.COMPLETED
  if (kind === 'payout') await payments.reportPayout({ payoutId: subjectId, outcome }, options)
  else await payments.reportRefund({ refundId: subjectId, outcome }, options)
}

async function reportToAccounts(
  accounts: PeerClients['accounts'],
  report: ReportTo<'accounts'>,
): Promise<void> {
  if (report.kind === 'consent') {
    const { subjectId: challengeId, outcome } = report
    await accounts.reportConsent({ challengeId, answer: answers[outcome] }, options)
    return
  }
  const { subjectId: reviewId } = report
  await accounts.reportOnboarding({ reviewId, outcome: onboardingOutcome(report) }, options)
}

function onboardingOutcome(report: Extract<Report, { kind: 'onboarding' }>) {
  if (report.outcome === 'rejected') {
    return { case: 'rejected' as const, value: { reason: report.reason } }
  }
  const { accountLevel } = report
  // No currency: the institution's own.
  const value = { accountLevel, fundsAccessStatus: fundsAccess[accountLevel] }
  return { case: 'completed' as const, value }
}

async function reportToInstitution(
  institution: PeerClients['institution'],
  { subjectId: transferId, outcome, reason }: ReportTo<'institution'>,
): Promise<void> {
  const wire = { transferId, outcome: institutionOutcomes[outcome], reason: reason ?? '' }
  await institution.reportTransfer(wire, options)
}
