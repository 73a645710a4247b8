// Sends the reports of a connector to payments, accounts and institution.
import { fromBinary } from '@bufbuild/protobuf'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { type Receiver, type ReportName, reportMessages } from '../api/report-messages.ts'
import type { Work } from '../domain/work.ts'

/** Maximum wait for the answer to one report. */
const timeoutMs = 4_000

/** RPC addresses of the processes that take reports. */
export type ReceiverUrls = Record<Receiver, string>

/** Sends a report; rejects with a Failure when it was not accepted. */
export type SendReport = (work: Work) => Promise<void>

/** The ways to those that take reports. */
export type Receivers = {
  send: SendReport
  /** Streams the bytes of an artefact of a review. */
  readArtefact(reviewId: string, artefactId: string): AsyncIterable<{ chunk: Uint8Array }>
  close(): Promise<void>
}

/** Connects with the identity of the connector. Opens no connection before the first report. */
export function openReceivers(urls: ReceiverUrls, identity: Identity): Receivers {
  const reach = (audience: Receiver) => {
    const url = urls[audience]
    // Artefacts are longer than any other answer.
    const pool = createRpcPool(url, { audience, identity, lasting: audience === 'accounts' })
    return { audience, url, identity, pool }
  }
  const ways = {
    payments: reach('payments'),
    accounts: reach('accounts'),
    institution: reach('institution'),
  }
  const payments = createRpcClient(ChargeReportService, ways.payments)
  const accounts = createRpcClient(ReviewReportService, ways.accounts)
  const institution = createRpcClient(TransferReportService, ways.institution)
  const options = { timeoutMs }
  const senders: Record<ReportName, (bytes: Uint8Array) => Promise<unknown>> = {
    ReportCharge: (bytes) =>
      payments.reportCharge(fromBinary(reportMessages.ReportCharge, bytes), options),
    ReportPayout: (bytes) =>
      payments.reportPayout(fromBinary(reportMessages.ReportPayout, bytes), options),
    ReportRefund: (bytes) =>
      payments.reportRefund(fromBinary(reportMessages.ReportRefund, bytes), options),
    ReportOnboarding: (bytes) =>
      accounts.reportOnboarding(fromBinary(reportMessages.ReportOnboarding, bytes), options),
    ReportConsent: (bytes) =>
      accounts.reportConsent(fromBinary(reportMessages.ReportConsent, bytes), options),
    ReportTransfer: (bytes) =>
      institution.reportTransfer(fromBinary(reportMessages.ReportTransfer, bytes), options),
  }
  return {
    async send({ key, payload }) {
      const [rpc = ''] = key.split(' ', 1)
      await senders[rpc as ReportName](payload)
    },
    readArtefact: (reviewId, artefactId) => accounts.readArtefact({ reviewId, artefactId }),
    async close() {
      await Promise.all(Object.values(ways).map(({ pool }) => pool.close()))
    },
  }
}
