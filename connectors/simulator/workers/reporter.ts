// Sends due reports to other services and retries until they accept. The transport is injected.

import { Failure, type Reason } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { type Loop, systemTimers, type Timers } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { kindsOf, type Receiver, type Report } from '../domain/report.ts'
import type { SendReport } from '../ports/peers.ts'
import { claimReports, recordReports, type Sent } from '../store/report-store.ts'
import { maxPauseMs, startPoll } from './poll.ts'

const batch = 100
/** Longer than one call, so that two senders rarely have one report; short, since a killed sender's reports wait. */
const leaseMs = 6_000
/** How long after the first report of a subject another may begin: with the time that a call may take, less than the lease. */
const maxTurnMs = 1_500
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
  /** The time that the loop runs by; that of the process when unset. */
  timers?: Timers
}

/** Reports until closed. */
export function startReporter({ timers = systemTimers, ...options }: ReporterOptions): Loop {
  const { nowMs } = timers
  // When the first of the reports that were not accepted is due again.
  let againMs = Number.POSITIVE_INFINITY
  return startPoll({
    kind: 'reports',
    log: options.log,
    timers,
    async round() {
      if (againMs <= nowMs()) againMs = Number.POSITIVE_INFINITY
      const { sent, isMoreDue } = await sendDue(options, nowMs)
      const endedMs = nowMs()
      for (const { delayMs } of sent) {
        if (delayMs !== undefined) againMs = Math.min(againMs, endedMs + delayMs)
      }
      if (isMoreDue) return true
      const pauseMs = Math.max(0, againMs - endedMs)
      return pauseMs < maxPauseMs ? pauseMs : false
    },
  })
}

/** Sends one batch of due reports; returns the result of each, and whether more are due at once. */
async function sendDue(
  { db, log, receiver, send }: Omit<ReporterOptions, 'timers'>,
  nowMs: Timers['nowMs'],
): Promise<{ sent: Sent[]; isMoreDue: boolean }> {
  const reports = await claimReports(db, kindsOf[receiver], batch, leaseMs)
  if (reports.length === 0) return { sent: [], isMoreDue: false }
  const bySubject = Map.groupBy(reports, ({ kind, subjectId }) => `${kind} ${subjectId}`)
  const turns = await Promise.all(
    [...bySubject.values()].map(async (some) => {
      const inOrder = some.toSorted((a, b) => a.position - b.position)
      const sent = await sendInTurn(inOrder, (report) => sendOne(report, send, log), nowMs)
      // The next report of a subject is due once the one before it has ended.
      const isNextDue = inOrder.at(-1)?.isFollowed === true && sent.at(-1)?.outcome !== 'again'
      return { sent, isNextDue }
    }),
  )
  const sent = turns.flatMap((turn) => turn.sent)
  await recordReports(db, sent)
  return { sent, isMoreDue: turns.length === batch || turns.some(({ isNextDue }) => isNextDue) }
}

/** Sends the reports of one subject, each after the one before it has ended; leaves the rest for later when one has not. */
async function sendInTurn(
  reports: readonly Report[],
  sendNext: (report: Report) => Promise<Sent>,
  nowMs: Timers['nowMs'],
): Promise<Sent[]> {
  const latestMs = nowMs() + maxTurnMs
  const sent: Sent[] = []
  for (const report of reports) {
    const before = sent.at(-1)
    if (before === undefined || (before.outcome !== 'again' && nowMs() <= latestMs)) {
      sent.push(await sendNext(report))
    } else {
      sent.push({ ...claimOf(report), outcome: 'again', delayMs: before.delayMs ?? 0 })
    }
  }
  return sent
}

/** What names the claim of a report. */
function claimOf({ subjectId, position, kind, attempts }: Report) {
  return { subjectId, position, kind, attempts }
}

async function sendOne(report: Report, send: SendReport, log: Logger): Promise<Sent> {
  const { kind, attempts } = report
  const claim = claimOf(report)
  try {
    await send(report)
    return { ...claim, outcome: 'delivered' }
  } catch (error) {
    const reason = error instanceof Failure ? error.reason : 'INTERNAL_ERROR'
    if (definitive.has(reason)) {
      log.error(
        { err: error, kind, outcome: report.outcome, reason },
        'report rejected permanently',
      )
      return { ...claim, outcome: 'dead_letter', reason }
    }
    if (attempts === 1)
      log.warn({ kind, outcome: report.outcome, reason }, 'report not accepted yet')
    return { ...claim, outcome: 'again', reason, delayMs: delayAfter(attempts) }
  }
}

/** Doubles from a quarter of a second to ten, spread by a fifth either way. */
function delayAfter(attempts: number): number {
  const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempts - 1, 10))
  return Math.round(delayMs * (0.8 + Math.random() * 0.4))
}
