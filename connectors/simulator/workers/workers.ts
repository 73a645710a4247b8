// Starts the workers for payers' acts, bills, transfers, reports and the deletion of old rows.
import type { Database } from '#platform/db/db.ts'
import { startRetention } from '#platform/events/retention.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Receiver } from '../domain/report.ts'
import { receiverQuotas } from '../operations/receiver-quota.ts'
import type { Peers } from '../ports/peers.ts'
import { deleteOldCardFrames } from '../store/charge-store.ts'
import { deleteOldFlaky, deleteOldReceived } from '../store/receiver-store.ts'
import { startActor } from './actor.ts'
import { startConsenter } from './consenter.ts'
import { startBiller } from './pay-bill.ts'
import { startReporter } from './reporter.ts'
import { startReviewer } from './reviewer.ts'
import { startTransfers } from './run-transfer.ts'

/** Bodies whose arrivals the flaky receivers count at most. */
const flakyKept = 100_000

export type WorkersOptions = { db: Database; log: Logger; peers: Peers }

/** Starts the workers. Closing stops the acts of people before the reports. */
export function startWorkers({ db, log, peers }: WorkersOptions) {
  const { readArtefact, send } = peers
  const reporterTo = (receiver: Receiver) =>
    startReporter({ db, log, receiver, send: send[receiver] })
  const reporters = {
    payments: reporterTo('payments'),
    accounts: reporterTo('accounts'),
    institution: reporterTo('institution'),
  }
  const accountsReports = { db, log, reportsWritten: reporters.accounts.notify }
  const actor = startActor({ db, log, reportsWritten: reporters.payments.notify })
  const reviewer = startReviewer({ ...accountsReports, readArtefact })
  const consenter = startConsenter(accountsReports)
  const biller = startBiller({ db, log })
  const transfers = startTransfers({ db, log, reportsWritten: reporters.institution.notify })
  const people = [actor, reviewer, consenter, biller, transfers]
  const retention = [
    startRetention({
      db,
      log,
      deleteOld: (tx, limit) => deleteOldReceived(tx, limit, receiverQuotas.total),
    }),
    startRetention({
      db,
      log,
      deleteOld: (tx, limit) => deleteOldFlaky(tx, limit, flakyKept),
    }),
    startRetention({ db, log, deleteOld: deleteOldCardFrames }),
  ]
  return {
    reporters,
    actor,
    reviewer,
    consenter,
    biller,
    transfers,
    async close() {
      await Promise.all(people.map((loop) => loop.close()))
      await Promise.all([...Object.values(reporters), ...retention].map((loop) => loop.close()))
    },
  }
}
