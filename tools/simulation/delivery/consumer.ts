// The delivery processes of a run, with the engine of the product.
import { Registry } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { startConsumer } from '#platform/events/inbox.ts'
import { answerSeen } from '#platform/events/inbox-routes.ts'
import type { SeenClient } from '#platform/events/outbox.ts'
import { startDeliveries } from '../../../services/delivery/engine.ts'
import { subjects } from '../../../services/delivery/operations/event-intake.ts'
import type { Process } from '../engine/scheduler.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
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
export type Consumer = Member & { served(): Database }

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
    startConsumer({ db, nats, durable: 'delivery', subjects, takeIn, log, metrics })
    return db
  })
}

const unreachable = (): Failure => new Failure('SERVICE_UNAVAILABLE', 'the service did not answer')

/** The Seen RPC between a producer and any of the delivery processes. */
export function seenClient(
  { scheduler, network }: Simulation,
  consumers: readonly Consumer[],
  process: Process,
): SeenClient {
  return {
    seen: ({ eventIds }, { timeoutMs = 5_000 } = {}) =>
      new Promise((resolve, reject) => {
        const fail = () => reject(unreachable())
        const cancel = scheduler.after(timeoutMs, fail, process)
        const consumer = scheduler.random.pick(consumers)
        if (network.isLost('message')) return
        const work = async () => {
          const answer = await answerSeen(consumer.served(), eventIds).catch(() => undefined)
          if (network.isLost('message')) return
          const end = () => {
            cancel()
            if (answer === undefined) fail()
            else resolve(answer)
          }
          scheduler.after(network.delayMs('service'), end, process)
        }
        scheduler.after(network.delayMs('service'), work, consumer.process)
      }),
  }
}
