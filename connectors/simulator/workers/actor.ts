// Performs the planned acts of payers: pay, refuse, pay late. The plans are in people.ts.
import { randomId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { decidePlannedAct } from '../domain/charge.ts'
import { advanceCharges, insertAttempts } from '../store/attempt-store.ts'
import {
  advancePlans,
  claimDueCharges,
  type DueCharge,
  waitForNextAct,
} from '../store/charge-store.ts'
import { type DuePoll, startDuePoll } from './poll.ts'

const batch = 200

export type ActorOptions = {
  db: Database
  log: Logger
  /** Called when a report to payments is due. */
  reportsWritten: () => void
}

/** Acts until closed. */
export function startActor(options: ActorOptions): DuePoll {
  return startDuePoll({
    kind: 'charges',
    log: options.log,
    waitMs: () => waitForNextAct(options.db),
    async workOff() {
      while ((await actDue(options)) === batch);
    },
  })
}

/** Performs the acts that are due; returns how many were read. */
async function actDue({ db, reportsWritten }: Omit<ActorOptions, 'log'>): Promise<number> {
  const count = await db.transaction(async (tx) => {
    const due = await claimDueCharges(tx, batch)
    if (due.length === 0) return 0
    const acts = due.map(decide)
    const made = acts.flatMap(({ attempt }) => attempt ?? [])
    const rows = made.map(({ row }) => row)
    const advances = made.map(({ advance }) => advance)
    // Sent together, and executed in this order.
    await Promise.all([
      ...(made.length > 0 ? [insertAttempts(tx, rows), advanceCharges(tx, advances)] : []),
      advancePlans(tx, acts),
    ])
    return due.length
  })
  if (count > 0) reportsWritten()
  return count
}

function decide(charge: DueCharge) {
  const { chargeId } = charge
  const verdict = decidePlannedAct(charge)
  if (verdict === undefined) return { chargeId, actsLeft: 0 }
  const attemptId = randomId()
  const { outcome } = verdict
  const isLate = charge.state !== 'open'
  return {
    chargeId,
    actsLeft: outcome === 'paid' ? 0 : charge.actsLeft - 1,
    attempt: {
      row: {
        chargeId,
        attemptId,
        outcome,
        refusal: verdict.refusal ?? null,
        source: 'plan' as const,
      },
      advance: {
        chargeId,
        attemptId,
        outcome,
        // Late money just arrives: nobody was seen to begin.
        reports: isLate ? [outcome] : (['processing', outcome] as const).slice(),
      },
    },
  }
}
