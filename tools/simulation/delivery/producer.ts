// The producers of a run, and the clients who have them commit the events of payments.
import { Registry } from 'prom-client'
import { isUniqueViolation } from '#platform/db/db.ts'
import type { InboxClient } from '#platform/events/outbox.ts'
import { insertEvent, type OutboxEvent, startOutbox } from '#platform/events/outbox.ts'
import { type PaymentOfRun, payloadOf, paymentSubject } from '../../bench/delivery/payment-event.ts'
import { uuid } from '../engine/globals.ts'
import type { Process } from '../engine/scheduler.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
import type { Simulation } from '../simulation.ts'
import { insertLeased } from './event-store.ts'

/** A process that writes events and publishes them; it serves what commits an event. */
export type Producer = Member & { served(): (event: OutboxEvent) => Promise<void> }

/** Starts a producer; `inboxClient` makes its client of the consumer's inbox. */
export function startProducer(
  simulation: Simulation,
  name: string,
  inboxClient: (process: Process) => InboxClient,
): Producer {
  return startMember(simulation, { name, service: 'payments' }, ({ process, db, log }) => {
    const outbox = startOutbox({
      db,
      nats: simulation.broker.connect(process),
      subjects: { [paymentSubject]: { consumers: { delivery: inboxClient(process) } } },
      log,
      metrics: new Registry(),
    })
    return async (event) => {
      if (Math.random() < 0.5) {
        const occurredAt = await db.transaction((tx) => insertLeased(tx, event))
        outbox.publish({ ...event, occurredAt })
      } else {
        await db.transaction((tx) => insertEvent(tx, event))
        outbox.notify()
      }
    }
  })
}

/** An event that a client has had committed, or tries to. */
export type Ordered = {
  event: OutboxEvent
  payment: PaymentOfRun
  step: number
  isCommitted: boolean
}

const answerWithinMs = 5_000
const projects = 2
const receivers = ['https://one.example', 'https://two.example']

/** Makes the payments of a run; their events are committed one after the other, each repeated until that is certain. */
export function orderEvents(simulation: Simulation, producers: readonly Producer[]): Ordered[] {
  const { scheduler, plan, network } = simulation
  const { random } = scheduler
  const id = () => uuid(Uint8Array.from({ length: 16 }, () => random.whole(0, 255)))
  const projectIds = Array.from({ length: projects }, id)
  const ordered: Ordered[] = []

  function request(one: Ordered, onDone: () => void): void {
    const producer = random.pick(producers)
    const { process } = producer
    let isOver = false
    const end = (isCommitted: boolean): void => {
      if (isOver) return
      isOver = true
      if (!isCommitted)
        return void scheduler.after(random.whole(50, 500), () => request(one, onDone))
      scheduler.record('client', `${nameOf(one)} is committed`)
      one.isCommitted = true
      onDone()
    }
    scheduler.after(answerWithinMs, () => end(false))
    if (network.isLost('message')) return
    const answer = (isCommitted: boolean): void => {
      if (network.isLost('message')) return
      scheduler.after(network.delayMs('service'), () => end(isCommitted))
    }
    const work = () =>
      producer
        .served()(one.event)
        .then(
          () => answer(true),
          (error: unknown) => answer(isUniqueViolation(error)),
        )
    scheduler.after(network.delayMs('service'), work, process)
  }

  function next(events: readonly Ordered[]): void {
    const [first, ...others] = events
    if (first === undefined) return
    scheduler.after(random.next() * plan.maxGapMs, () => request(first, () => next(others)))
  }

  for (let n = 0; n < plan.payments; n += 1) {
    const origin = random.pick(receivers)
    const payment: PaymentOfRun = {
      paymentId: `payment-${n}`,
      projectId: random.pick(projectIds),
      notify: `${origin}/notify/${n % 2}`,
      callback: `${origin}/callback/${n % 2}`,
    }
    const events = Array.from({ length: plan.eventsPerPayment }, (_, step): Ordered => {
      const event = {
        eventId: id(),
        subject: paymentSubject,
        projectId: payment.projectId,
        payload: payloadOf(payment, step),
      }
      return { event, payment, step, isCommitted: false }
    })
    ordered.push(...events)
    next(events)
  }
  return ordered
}

/** An event in words. */
export const nameOf = ({ payment, step }: Ordered): string => `${payment.paymentId} event ${step}`
