// Payweave's side towards a back end under test: serves the RPCs that take its reports and its questions, and records both.
import { setTimeout as delay } from 'node:timers/promises'
import type { DescService } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { RegistrationStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import {
  TransferOutcome,
  TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import {
  ChargeOutcome,
  ChargeReportService,
  TransferOutcome as PayoutOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PayerState, PaymentMethod, PayoutState } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import type { Logger } from '#platform/telemetry/log.ts'

/** A report as it arrived. */
export type GotReport = {
  /** Name of the RPC. */
  rpc: string
  /** The reference that it is about. */
  id: string
  /** The attempt of a charge; empty for others. */
  attemptId: string
  /** Name of the outcome, such as PAID. */
  outcome: string
  /** Whether it was accepted. */
  accepted: boolean
  /** What a charge was paid with: CARD, or UNSPECIFIED for what was requested. */
  paymentMethod?: string
  /** Why an attempt was refused: UNSPECIFIED when the report gives no reason. */
  refusalReason?: string
  /** Of an accepted profile. */
  account?: { level: number; currency: string }
  /** Why something failed. */
  reason?: string
}

/** How the next report about a reference is answered: refused for a reason, or not at all until the caller gives up. */
export type PlannedAnswer = Reason | 'no answer'

/** An artefact that a back end may read, with the number of times that it did. */
export type ServedArtefact = { bytes: Uint8Array; reads: number }

/** What the back end has reported, and how it is answered. */
export type Reports = {
  /** From now on reports about this reference are accepted; those about others get NOT_FOUND. */
  expect(id: string): void
  /** Answers the next reports about a reference so, before they are accepted. */
  plan(id: string, ...answers: PlannedAnswer[]): void
  /** Reports about a reference in the order of their arrival. */
  of(id: string): readonly GotReport[]
  /** Artefacts by id. */
  artefacts: Map<string, ServedArtefact>
}

/** The processes that take reports, and where they listen. */
export type ReportPorts = { payments: number; accounts: number; institution: number }

export type ReportServerOptions = {
  host: string
  ports: ReportPorts
  identityOf: (name: string) => Identity
  log: Logger
}

const chunkBytes = 65_536
/** For connections only: no call is in flight that somebody waits for. */
const graceMs = 100

/**
 * Listens on the three ports, as payments, accounts and institution do. Rejects with the system's error when a port cannot
 * be opened.
 */
export async function serveReports(
  options: ReportServerOptions,
): Promise<Reports & { close(): Promise<void> }> {
  const { host, ports, identityOf, log } = options
  const { take, ...reports } = createReports()
  const artefacts = new Map<string, ServedArtefact>()
  const servers: RpcServer[] = []
  const close = async () => void (await Promise.all(servers.map((server) => server.close())))
  const serve = async (
    name: keyof ReportPorts,
    service: DescService,
    routes: (router: ConnectRouter) => void,
  ) => {
    const port = ports[name]
    const identity = identityOf(name)
    const server = { host, port, log, graceMs, identity, services: [service], routes }
    servers.push(await serveRpc(server))
  }
  try {
    await serve('payments', ChargeReportService, chargeReportRoutes(take))
    await serve('accounts', ReviewReportService, reviewReportRoutes(take, artefacts))
    await serve('institution', TransferReportService, transferReportRoutes(take))
  } catch (error) {
    await close()
    throw error
  }
  return { ...reports, artefacts, close }
}

/** Records a report and answers it as planned. */
type Take = (report: Omit<GotReport, 'accepted'>, caller: AbortSignal) => Promise<void>

function chargeReportRoutes(take: Take) {
  return (router: ConnectRouter) =>
    router.service(ChargeReportService, {
      async reportCharge({ chargeId: id, attemptId, ...report }, { signal }) {
        const paymentMethod = PaymentMethod[report.paymentMethod] ?? ''
        const outcome = ChargeOutcome[report.outcome] ?? ''
        const refusalReason = RefusalReason[report.refusalReason] ?? ''
        const rpc = 'ReportCharge'
        await take({ rpc, id, attemptId, outcome, paymentMethod, refusalReason }, signal)
        return { payerState: PayerState.PENDING }
      },
      async reportPayout({ payoutId: id, outcome }, { signal }) {
        const name = PayoutOutcome[outcome] ?? ''
        await take({ rpc: 'ReportPayout', id, attemptId: '', outcome: name }, signal)
        return { payoutState: PayoutState.COMPLETED }
      },
      async reportRefund({ refundId: id, outcome }, { signal }) {
        const name = PayoutOutcome[outcome] ?? ''
        await take({ rpc: 'ReportRefund', id, attemptId: '', outcome: name }, signal)
        return {}
      },
    })
}

function reviewReportRoutes(take: Take, artefacts: Reports['artefacts']) {
  return (router: ConnectRouter) =>
    router.service(ReviewReportService, {
      async reportOnboarding({ reviewId: id, outcome }, { signal }) {
        const report = { rpc: 'ReportOnboarding', id, attemptId: '' }
        if (outcome.case === 'completed') {
          const { accountLevel: level, currency } = outcome.value
          await take({ ...report, outcome: 'COMPLETED', account: { level, currency } }, signal)
        } else {
          const reason = outcome.value?.reason ?? ''
          await take({ ...report, outcome: 'REJECTED', reason }, signal)
        }
        return {}
      },
      async reportConsent({ challengeId: id, answer }, { signal }) {
        const outcome = RegistrationStatus[answer] ?? ''
        await take({ rpc: 'ReportConsent', id, attemptId: '', outcome }, signal)
        return {}
      },
      async *readArtefact({ artefactId }) {
        const served = artefacts.get(artefactId)
        if (served === undefined) throw new Failure('REVIEW_NOT_FOUND', 'no such artefact')
        served.reads += 1
        for (let at = 0; at < served.bytes.length; at += chunkBytes) {
          yield { chunk: served.bytes.subarray(at, at + chunkBytes) }
        }
      },
    })
}

function transferReportRoutes(take: Take) {
  return (router: ConnectRouter) =>
    router.service(TransferReportService, {
      async reportTransfer({ transferId: id, outcome, reason }, { signal }) {
        const name = TransferOutcome[outcome] ?? ''
        await take({ rpc: 'ReportTransfer', id, attemptId: '', outcome: name, reason }, signal)
        return {}
      },
    })
}

function createReports() {
  const byId = new Map<string, GotReport[]>()
  const plans = new Map<string, PlannedAnswer[]>()
  return {
    expect: (id: string) => void byId.set(id, []),
    plan: (id: string, ...answers: PlannedAnswer[]) => void plans.set(id, answers),
    of: (id: string) => byId.get(id) ?? [],
    async take(report: Omit<GotReport, 'accepted'>, caller: AbortSignal): Promise<void> {
      const got = byId.get(report.id)
      if (got === undefined) throw new Failure('CHARGE_NOT_FOUND', 'nothing has this reference')
      const planned = plans.get(report.id)?.shift()
      got.push({ ...report, accepted: planned === undefined })
      if (planned === 'no answer') await delay(600_000, undefined, { signal: caller })
      else if (planned !== undefined) throw new Failure(planned, 'the check refuses this report')
    },
  }
}
