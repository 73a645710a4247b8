// Sends due reports to other services and retries until they accept. The transport is injected.

import { Failure, type Reason } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import type { Loop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { kindsOf, type Receiver, type Report } from '../domain/report.ts'
import type { SendReport } from '../ports/peers.ts'
import { claimReports, noteReports, type Sent } from '../store/report-store.ts'
import { maxPauseMs, startPoll } from './poll.ts'

const batch = 100
/** Longer than one call, so that two senders rarely have one report; short, since a killed sender's reports wait. */
const leaseMs = 6_000
const firstDelayMs = 250
const maxDelayMs = 10_000

/** Refusals that no repetition changes. */
const definitive: ReadonlySet<Reason> = new Set<Reason>([
  'MISSING_PARAMETER',
  'INVALID_PARAMETER',
  'CHARGE_NOT_FOUND',
  'PAYMENT_NOT_FOUND',
  'PAYMENT_NOT_PAYABLE',
  'REVIEW_NOT_FOUND',
  'TRANSFER_NOT_FOUND',
  'TRANSACTION_NOT_FOUND',
])

export type ReporterOptions = {
  db: Database
  log: Logger
  /** Each receiver has its own loop, so that a slow one does not delay the others. */
  receiver: Receiver
  send: SendReport
}

/** Reports until closed. */
export function startReporter(options: ReporterOptions): Loop {
  // When the first of the reports that were not accepted is due again.
  let againMs = Number.POSITIVE_INFINITY
  return startPoll({
    kind: 'reports',
    log: options.log,
    async round() {
      if (againMs <= performance.now()) againMs = Number.POSITIVE_INFINITY
      const sent = await sendDue(options)
      const nowMs = performance.now()
      for (const { delayMs } of sent) {
        if (delayMs !== undefined) againMs = Math.min(againMs, nowMs + delayMs)
      }
      // The next report of a subject is due once the one before it has ended.
      if (sent.some(({ outcome }) => outcome !== 'again')) return true
      return againMs - nowMs < maxPauseMs ? againMs - nowMs : false
    },
  })
}

/** Sends one batch of due reports; returns the result of each. */
async function sendDue({ db, log, receiver, send }: ReporterOptions): Promise<Sent[]> {
  const reports = await claimReports(db, kindsOf[receiver], batch, leaseMs)
  if (reports.length === 0) return []
  const sent = await Promise.all(reports.map((report) => sendOne(report, send, log)))
  await noteReports(db, sent)
  return sent
}

async function sendOne(report: Report, send: SendReport, log: Logger): Promise<Sent> {
  const { subjectId, position, kind, attempts } = report
  const place = { subjectId, position, kind, attempts }
  try {
    await send(report)
    return { ...place, outcome: 'delivered' }
  } catch (error) {
    const reason = error instanceof Failure ? error.reason : 'INTERNAL_ERROR'
    if (definitive.has(reason)) {
      log.error(
        { err: error, kind, outcome: report.outcome, reason },
        'report rejected permanently',
      )
      return { ...place, outcome: 'dead_letter', reason }
    }
    if (attempts === 1)
      log.warn({ kind, outcome: report.outcome, reason }, 'report not accepted yet')
    return { ...place, outcome: 'again', reason, delayMs: delayAfter(attempts) }
  }
}

/** Doubles from a quarter of a second to ten, spread by a fifth either way. */
function delayAfter(attempts: number): number {
  const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempts - 1, 10))
  return Math.round(delayMs * (0.8 + Math.random() * 0.4))
}
