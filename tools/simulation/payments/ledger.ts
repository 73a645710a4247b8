// The accounts processes of a run of payments: they take in the events in which money moved, and post them to the ledger.
import { Registry } from 'prom-client'
import type { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { inboxService } from '#platform/events/inbox-routes.ts'
import { settlementMetrics } from '../../../services/accounts/ledger/settlement-metrics.ts'
import { startSettlementConsumer } from '../../../services/accounts/ledger/workers/settlement-consumer.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
import type { Callee } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'

/** A process that posts settlements; the job that compares them later, and would hide a loss, does not run. */
export type Ledger = Member & Callee<typeof InboxService>

/** Starts an accounts process. */
export function startLedger(simulation: Simulation, name: string): Ledger {
  return startMember(simulation, { name, service: 'accounts' }, ({ process, db, log }) => {
    const metrics = new Registry()
    const nats = simulation.broker.connect(process)
    const posted = settlementMetrics({ metrics, db })
    return inboxService(db, startSettlementConsumer({ db, nats, log, metrics, posted }))
  })
}
