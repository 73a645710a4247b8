// Stand-ins for the services that the simulator reports to: they record reports and refuse on demand.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { RegistrationStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import {
  TransferOutcome,
  TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import {
  ChargeOutcome,
  ChargeReportService,
  type ReportChargeRequest,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PayerState, PaymentMethod, PayoutState } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { type ServeRpcOptions, serveRpc } from '#platform/rpc/server/server.ts'
import { silentLog } from '../support/database.ts'

const host = '127.0.0.1'

/** A report as payments got it. */
export type GotReport = { id: string; attemptId: string; outcome: string; method: string }

/** A server that a test may stop and start again on its port. */
function standIn(options: Pick<ServeRpcOptions, 'identity' | 'port' | 'routes'>) {
  let server: Awaited<ReturnType<typeof serveRpc>> | undefined
  return {
    async start() {
      server = await serveRpc({ host, log: silentLog, graceMs: 100, ...options })
    },
    async stop() {
      await server?.close()
      server = undefined
    },
  }
}

/** Refusals that a test asks for, by the id that is refused. */
function refusalsById() {
  const refusals = new Map<string, Reason[]>()
  return {
    /** Answers the next calls about one id with these refusals. */
    refuse: (id: string, ...reasons: Reason[]) => void refusals.set(id, reasons),
    check(id: string): void {
      const reason = refusals.get(id)?.shift()
      if (reason !== undefined) throw new Failure(reason, 'as the test wants it')
    },
  }
}

/** Takes the reports of charges, payouts and refunds. */
export function paymentsStandIn(identity: Identity, port: number) {
  const got: GotReport[] = []
  const { refuse, check } = refusalsById()
  const keepCharge = ({ chargeId, attemptId, outcome, paymentMethod }: ReportChargeRequest) => {
    const method = PaymentMethod[paymentMethod] ?? ''
    got.push({ id: chargeId, attemptId, outcome: ChargeOutcome[outcome] ?? '', method })
  }
  return {
    got,
    refuse,
    /** Reports about one charge, payout or refund, in the order of arrival. */
    of: (id: string) => got.filter((report) => report.id === id),
    ...standIn({
      identity,
      port,
      routes: (router) =>
        router.service(ChargeReportService, {
          reportCharge(report) {
            check(report.chargeId)
            keepCharge(report)
            return { payerState: PayerState.PENDING }
          },
          reportPayout({ payoutId }) {
            got.push({ id: payoutId, attemptId: '', outcome: 'COMPLETED', method: '' })
            return { payoutState: PayoutState.COMPLETED }
          },
          reportRefund({ refundId }) {
            got.push({ id: refundId, attemptId: '', outcome: 'COMPLETED', method: '' })
            return {}
          },
        }),
    }),
  }
}

/** A report as accounts or the institution service got it. */
export type GotOutcome = { id: string; outcome: string; level?: number; access?: number }

/** Takes the reports of reviews and consents, and streams artefacts. */
export function accountsStandIn(identity: Identity, port: number) {
  const got: GotOutcome[] = []
  const artefacts = new Map<string, Uint8Array>()
  const { refuse, check } = refusalsById()
  return {
    got,
    refuse,
    /** Bytes by artefact. */
    artefacts,
    of: (id: string) => got.filter((report) => report.id === id),
    ...standIn({
      identity,
      port,
      routes: (router) =>
        router.service(ReviewReportService, {
          reportOnboarding({ reviewId: id, outcome }) {
            check(id)
            if (outcome.case === 'completed') {
              const { accountLevel: level, fundsAccessStatus: access } = outcome.value
              got.push({ id, outcome: 'COMPLETED', level, access })
            } else got.push({ id, outcome: outcome.case === 'rejected' ? 'REJECTED' : '' })
            return {}
          },
          reportConsent({ challengeId: id, answer }) {
            check(id)
            got.push({ id, outcome: RegistrationStatus[answer] ?? '' })
            return {}
          },
          async *readArtefact({ artefactId }) {
            check(artefactId)
            const bytes = artefacts.get(artefactId)
            if (bytes === undefined) throw new Failure('REVIEW_NOT_FOUND', 'no such artefact')
            for (let at = 0; at < bytes.length; at += 65_536) {
              yield { chunk: bytes.subarray(at, at + 65_536) }
            }
          },
        }),
    }),
  }
}

/** Takes the reports of transfers. */
export function institutionStandIn(identity: Identity, port: number) {
  const got: GotOutcome[] = []
  const { refuse, check } = refusalsById()
  return {
    got,
    refuse,
    of: (id: string) => got.filter((report) => report.id === id),
    ...standIn({
      identity,
      port,
      routes: (router) =>
        router.service(TransferReportService, {
          reportTransfer({ transferId: id, outcome }) {
            check(id)
            got.push({ id, outcome: TransferOutcome[outcome] ?? '' })
            return {}
          },
        }),
    }),
  }
}
