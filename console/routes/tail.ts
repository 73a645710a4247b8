// The live tail of a project's pushes: attempts as they end, by server-sent events.
import type { FastifyInstance } from 'fastify'
import {
  AttemptOutcome,
  type DeliveryChange,
  DeliveryKind,
  type TailDeliveriesResponse,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Clients } from '../clients.ts'
import { asStream, type Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { endOf } from '../pages/timeline.ts'
import { timeOf, wordOf } from '../pages/words.ts'
import { sendEvents, silence, sse } from './events.ts'

/** Registers `<path>/tail` and the stream that it reads. */
export function registerTail(
  app: FastifyInstance,
  path: string,
  { worker, clients: { tails } }: { worker: Worker; clients: Clients },
): void {
  app.get(
    `${path}/tail`,
    worker.projectPage(({ reply, project: { projectId } }) => {
      const base = `/projects/${projectId}/pushes`
      return sendPage(reply, 'tail', { title: 'Live tail', base, source: `${base}/tail/events` })
    }),
  )
  app.get(
    `${path}/tail/events`,
    worker.projectPage(async (work) => {
      const { request, reply, project } = work
      const leaving = new AbortController()
      reply.raw.once('close', () => leaving.abort())
      // The browser may have gone during the checks before this.
      if (reply.raw.destroyed || request.raw.destroyed) leaving.abort()
      const { projectId } = project
      const changes = tails.tailDeliveries({ projectId }, { signal: leaving.signal })
      const iterator = changes[Symbol.asyncIterator]()
      // The first message comes at once; a refusal takes its place, and becomes an answer with its status.
      const first = await iterator.next()
      return sendEvents(work, eventsOf(first, iterator))
    }, asStream),
  )
}

async function* eventsOf(
  first: IteratorResult<TailDeliveriesResponse>,
  iterator: AsyncIterator<TailDeliveriesResponse>,
): AsyncGenerator<string> {
  try {
    for (let step = first; step.done !== true; step = await iterator.next()) {
      yield eventOf(step.value)
    }
  } catch {
    // The tail's time is over, or delivery went away: the browser connects again.
  }
}

function eventOf({ event }: TailDeliveriesResponse): string {
  if (event.case === 'change') return sse('change', shown(event.value))
  if (event.case === 'gap') return sse('gap', { missed: Number(event.value.droppedCount) })
  return silence
}

function shown({ deliveryId, kind, origin, attempt }: DeliveryChange) {
  const outcome = wordOf(AttemptOutcome, attempt?.outcome ?? AttemptOutcome.UNSPECIFIED)
  return {
    deliveryId,
    kind: wordOf(DeliveryKind, kind),
    origin,
    number: attempt?.number ?? 0,
    outcome: attempt?.status ? `${outcome} (${attempt.status})` : outcome,
    time: timeOf(attempt && endOf(attempt))?.iso,
  }
}
