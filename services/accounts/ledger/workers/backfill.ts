// Reads settlements from payments, page by page, and posts those that the ledger lacks.
import type { Client } from '@connectrpc/connect'
import type { Counter } from 'prom-client'
import type { Settlement, SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Database } from '#platform/db/db.ts'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { postOrRefuse } from '../operations/settlement-retry.ts'
import { moveOf } from '../operations/settlement-transfer.ts'
import {
  advanceBackfill,
  type ExpectedTransfer,
  findLacking,
  keepRefusals,
  readBackfill,
} from '../store/backfill-store.ts'

/** The dependencies of the job. */
export type BackfillOptions = {
  db: Database
  payments: Pick<Client<typeof SettlementService>, 'listSettlements'>
  log: Logger
  posted: Counter<'by'>
  /** Pause at the end of the list, and after a failure. */
  pauseMs?: { caughtUp: number; failed: number }
}

const defaultPauseMs = { caughtUp: 60_000, failed: 2_000 }

/**
 * Starts the job: it reads the list to its end, and once a minute what was added since. Payments may be down. Every replica runs it:
 * the cursor moves once a page, and a page that two replicas read is posted once.
 */
export function startBackfill(options: BackfillOptions): Loop {
  const { log, pauseMs = defaultPauseMs } = options
  const stopping = new AbortController()
  let failing = false
  let again: NodeJS.Timeout | undefined
  const loop = startLoop({
    kind: 'settlement backfill',
    log,
    pauseMs: pauseMs.caughtUp,
    async round() {
      try {
        const { caughtUp } = await backfillPage(options, stopping.signal)
        failing = false
        return !caughtUp
      } catch (error) {
        if (stopping.signal.aborted) return false
        if (!failing) log.warn({ err: error, kind: 'settlements' }, 'settlements not compared')
        failing = true
        again = setTimeout(loop.notify, pauseMs.failed)
        return false
      }
    },
  })
  return {
    notify: loop.notify,
    close() {
      stopping.abort()
      clearTimeout(again)
      return loop.close()
    },
  }
}

/** Works on one page and moves the cursor past it. */
export async function backfillPage(
  options: BackfillOptions,
  signal?: AbortSignal,
): Promise<{ caughtUp: boolean }> {
  const { db, payments, log, posted } = options
  const state = await readBackfill(db)
  const asked = { pageToken: state.pageToken }
  const page = await payments.listSettlements(asked, signal === undefined ? {} : { signal })
  const { settlements, nextPageToken: nextToken, caughtUp } = page
  const lacking = await lackingOf(db, settlements)
  const { postedCount, refusals } = await postOrRefuse(db, lacking)
  const refused = new Set(refusals.map(({ settlementId }) => settlementId))
  const postedIds = settlements
    .map(({ settlementId }) => settlementId)
    .filter((id) => !refused.has(id))
  await db.transaction(async (tx) => {
    await keepRefusals(tx, refusals, postedIds)
    const checkedCount = settlements.length
    await advanceBackfill(tx, state, { nextToken, checkedCount, postedCount, caughtUp })
  })
  posted.inc({ by: 'backfill' }, postedCount)
  if (postedCount > 0) log.info({ count: postedCount }, 'missing settlements posted')
  if (refusals.length > 0) log.error({ count: refusals.length }, 'settlements cannot be posted')
  return { caughtUp }
}

async function lackingOf(db: Database, settlements: Settlement[]): Promise<Settlement[]> {
  const unknown: Settlement[] = []
  const expected: ExpectedTransfer[] = []
  for (const settlement of settlements) {
    const { projectId, settlementId: transferId, currency, amountMinor } = settlement
    try {
      expected.push({ projectId, transferId, currency, amountMinor, ...moveOf(settlement) })
    } catch {
      unknown.push(settlement)
    }
  }
  const lacking = await findLacking(db, expected)
  return [...settlements.filter(({ settlementId }) => lacking.has(settlementId)), ...unknown]
}
