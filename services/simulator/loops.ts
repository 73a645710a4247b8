// Starts the loops that let people act, bills and transfers end, reports go out and old rows go; it must not take a call.
import type { Database } from '#runtime/db.ts'
import { startRetention } from '#runtime/events/retention.ts'
import type { Logger } from '#runtime/log.ts'
import { startActor } from './actor.ts'
import { startCarrier } from './carry-transfer.ts'
import { deleteOldCardFrames } from './charge-store.ts'
import { startConsenter } from './consenter.ts'
import type { Outside } from './outside.ts'
import { startBiller } from './pay-bill.ts'
import { receiverQuotas } from './receiver-quota.ts'
import { deleteOldFlaky, deleteOldReceived } from './receiver-store.ts'
import type { Receiver } from './report.ts'
import { startReporter } from './reporter.ts'
import { startReviewer } from './reviewer.ts'

/** Bodies whose arrivals the flaky receivers count at most. */
const flakyKept = 100_000

export type LoopsOptions = { db: Database; log: Logger; outside: Outside }

/** Starts what goes on without being asked. Closing lets people come to rest before their reports. */
export function startLoops({ db, log, outside }: LoopsOptions) {
  const { readArtefact, send } = outside
  const reporterTo = (receiver: Receiver) =>
    startReporter({ db, log, receiver, send: send[receiver] })
  const reporters = {
    payments: reporterTo('payments'),
    accounts: reporterTo('accounts'),
    institution: reporterTo('institution'),
  }
  const tellAccounts = { db, log, reportsWritten: reporters.accounts.kick }
  const actor = startActor({ db, log, reportsWritten: reporters.payments.kick })
  const reviewer = startReviewer({ ...tellAccounts, readArtefact })
  const consenter = startConsenter(tellAccounts)
  const biller = startBiller({ db, log })
  const carrier = startCarrier({ db, log, reportsWritten: reporters.institution.kick })
  const people = [actor, reviewer, consenter, biller, carrier]
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
    carrier,
    async close() {
      await Promise.all(people.map((loop) => loop.close()))
      await Promise.all([...Object.values(reporters), ...retention].map((loop) => loop.close()))
    },
  }
}
