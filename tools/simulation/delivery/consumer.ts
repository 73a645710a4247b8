// The delivery processes of a run, with the engine of the product.
import { Registry } from 'prom-client'
import type { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { startConsumer } from '#platform/events/inbox.ts'
import { inboxService } from '#platform/events/inbox-routes.ts'
import { startDeliveries } from '../../../services/delivery/engine.ts'
import { subjects } from '../../../services/delivery/operations/event-intake.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
import type { Callee } from '../rpc.ts'
import type { Simulation } from '../simulation.ts'
import type { Receivers } from './receivers.ts'

const settings = {
  deliveryAllowLoopback: false,
  deliveryBreakerMaxS: 20,
  deliveryBreakerOpenS: 5,
  // More attempts than the faults of a run use up: every push must arrive.
  deliveryScheduleS: [1, 2, 3, ...Array.from({ length: 60 }, () => 5)],
  deliveryTimeoutS: 5,
}

/** A process that takes events in and posts their pushes. */
export type Consumer = Member & Callee<typeof InboxService>

/** Starts a delivery process. */
export function startDelivery(
  simulation: Simulation,
  name: string,
  receivers: Receivers,
): Consumer {
  return startMember(simulation, { name, service: 'delivery' }, ({ process, db, log }) => {
    const metrics = new Registry()
    const nats = simulation.broker.connect(process)
    // No run has a signed push.
    const access = { getSigningSecrets: () => Promise.reject(new Error('not called')) }
    const poster = receivers.poster(process)
    const engine = { db, settings, log, metrics, access, nats, version: '0', poster }
    const { takeIn } = startDeliveries(engine)
    const options = { db, nats, durable: 'delivery', subjects, takeIn, log, metrics }
    return inboxService(db, startConsumer(options))
  })
}
