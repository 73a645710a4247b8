// Takes due work one step further: claims, transfers, and updates to the quotes service.
import { Failure, reasons } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Leased } from '../domain/transaction.ts'
import { executeTransfer } from '../operations/claim.ts'
import type { Institution } from '../operations/institution.ts'
import { notifyQuote } from '../operations/quotes.ts'
import { executesNothing } from '../ports/refusals.ts'
import { claimDueTransactions, postponeTransaction } from '../store/work-store.ts'
import { stepTransfer } from './transfer.ts'

const batchSize = 64
const width = 8

/** Starts the loop over due rows. Every replica runs it; rows leased by one are skipped by the others. */
export function startWorker(institution: Institution): Loop {
  const { db, log, settings } = institution
  return startLoop({
    kind: 'transactions',
    log,
    pauseMs: 250,
    idlePauseMs: 1_000,
    async round() {
      const lease = { token: randomId(), ms: settings.leaseMs }
      const rows = await claimDueTransactions(db, batchSize, lease)
      const options = { width, kind: 'transaction', log }
      await forEachOf(rows, options, (row) => workOn(institution, row))
      return rows.length === batchSize
    },
  })
}

async function workOn(institution: Institution, row: Leased): Promise<void> {
  if (row.state === 'claimed') return carryOn(institution, row)
  try {
    const hasEnded = row.state === 'pending' && (await stepTransfer(institution, row))
    // A transaction that has ended just now is due again at once, if it has a quote to update.
    if (!hasEnded) await notifyQuote(institution, { ...row, state: row.state })
  } catch (error) {
    // A late transfer is not submitted any more.
    const isUnexecuted = row.isLate || executesNothing(error)
    const delay = { firstMs: 500, maxMs: 60_000, isUnexecuted }
    await postponeTransaction(institution.db, row, delay)
    throw error
  }
}

/** Continues an abandoned claim; a refusal is a valid outcome. */
async function carryOn(institution: Institution, row: Leased): Promise<void> {
  try {
    await executeTransfer(institution, row)
  } catch (error) {
    const isRefusal = error instanceof Failure && reasons[error.reason].http < 500
    if (!isRefusal) throw error
    institution.log.info({ reason: error.reason }, 'abandoned claim refused')
  }
}
