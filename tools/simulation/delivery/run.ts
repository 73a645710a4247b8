// A run of outbox, publisher, inbox and delivery: from the commit of an event to the receipt of its pushes.
import { deliveryPlanOf } from '../plan.ts'
import type { Server } from '../postgres/server.ts'
import { inboxClientOf } from '../rpc.ts'
import { createSimulation, endRun, type Result, runToRest } from '../simulation.ts'
import { findBroken } from './checks.ts'
import { startDelivery } from './consumer.ts'
import { orderEvents, startProducer } from './producer.ts'
import { createReceivers } from './receivers.ts'

const unfinishedText = `
  select (select count(*) from payments.outbox where confirmed_at is null)
    + (select count(*) from delivery.delivery where state in ('pending', 'sending')) as n`

/** Runs a seed. */
export async function runDelivery(server: Server, seed: number): Promise<Result> {
  const plan = deliveryPlanOf(seed)
  const simulation = await createSimulation(server, seed, plan)
  const receivers = createReceivers(simulation)
  const consumers = Array.from({ length: plan.deliveries }, (_, n) =>
    startDelivery(simulation, `delivery-${n + 1}`, receivers),
  )
  const producers = Array.from({ length: plan.producers }, (_, n) =>
    startProducer(simulation, `payments-${n + 1}`, (process) =>
      inboxClientOf(simulation, consumers, process),
    ),
  )
  const ordered = orderEvents(simulation, producers)
  const members = [...producers, ...consumers]
  const hasEnded = await runToRest(simulation, members, async () => {
    if (!ordered.every(({ isCommitted }) => isCommitted)) return false
    const [row] = await server.read<{ n: bigint }>(unfinishedText)
    return row?.n === 0n
  })
  const broken = await findBroken(server, { plan, ordered, receivers, hasEnded })
  return endRun(simulation, members, broken)
}
