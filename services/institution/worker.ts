// Takes what is due one step further, whoever began it: claims, transfers, words to the quotes service; it must not hold a rule.
import { Failure, reasons } from '#core/errors.ts'
import { randomId } from '#core/id.ts'
import { forEachOf, type Loop, startLoop } from '#runtime/loop.ts'
import { carryOut } from './claim.ts'
import type { Institution } from './institution.ts'
import { tellQuote } from './quotes.ts'
import type { Leased } from './transaction.ts'
import { stepTransfer } from './transfer.ts'
import { putBack, takeDue } from './work-store.ts'

const batchSize = 64
const width = 8

/** Starts the loop over due rows. Every replica runs it; rows in one's hand are left by the others. */
export function startWorker(institution: Institution): Loop {
  const { db, log, settings } = institution
  return startLoop({
    kind: 'transactions',
    log,
    pauseMs: 250,
    idlePauseMs: 1_000,
    async round() {
      const lease = { token: randomId(), ms: settings.leaseMs }
      const rows = await takeDue(db, batchSize, lease)
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
    // A transaction that has ended just now is due again at once, if there is a quote to speak of.
    if (!hasEnded) await tellQuote(institution, { ...row, state: row.state })
  } catch (error) {
    await putBack(institution.db, row, { firstMs: 500, mostMs: 60_000 })
    throw error
  }
}

/** A claim whose maker stopped half-way. That it is refused is an end like another. */
async function carryOn(institution: Institution, row: Leased): Promise<void> {
  try {
    await carryOut(institution, row)
  } catch (error) {
    const isRefusal = error instanceof Failure && reasons[error.reason].http < 500
    if (!isRefusal) throw error
    institution.log.info({ reason: error.reason }, 'claim refused after its maker had gone')
  }
}
