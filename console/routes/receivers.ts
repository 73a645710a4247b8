// Receivers of a project's pushes: lanes with their limits, backlogs and circuit breakers.
import type { FastifyInstance } from 'fastify'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, type Endpoint } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { Clients } from '../clients.ts'
import type { Worker } from '../http/work.ts'
import { count, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { wordOf } from '../pages/words.ts'
import { nextPageUrl } from './list.ts'

/** Registers `/projects/<id>/receivers`. */
export function registerReceivers(
  app: FastifyInstance,
  { worker, clients: { endpoints } }: { worker: Worker; clients: Clients },
): void {
  app.get(
    '/projects/:projectId/receivers',
    worker.projectPage(async ({ request, reply, project, query }) => {
      const pageToken = query.get('page') ?? ''
      const { projectId } = project
      const listed = await endpoints.listEndpoints({ projectId, pageToken })
      return sendSections(reply, {
        title: `Receivers of ${project.name}`,
        sections: [
          {
            note: 'Pushes of one kind to one origin share a limit and a circuit breaker. An open breaker sends nothing until its time; then one push tries whether the receiver has recovered.',
            table: {
              head: ['Receiver', 'Kind', 'Breaker', 'Until', 'Waiting', 'In flight', 'Due since'],
              empty: 'Nothing was pushed yet.',
              rows: listed.endpoints.map((one) => [
                text(one.origin),
                text(wordOf(DeliveryKind, one.kind)),
                { state: `breaker ${wordOf(BreakerState, one.breaker)}` },
                { at: one.openUntilTime },
                count(waiting(one)),
                count(`${one.sendingCount} of ${one.limitNow}`),
                { at: one.oldestDueTime },
              ]),
            },
            ...nextPageUrl(request.url, listed.nextPageToken),
            rpc: 'payweave.delivery.v1.EndpointService/ListEndpoints',
          },
        ],
      })
    }),
  )
}

/** The count ends at 10,000. */
const maxCounted = 10_000

function waiting({ pendingCount }: Endpoint): string {
  return pendingCount >= maxCounted ? `${maxCounted} or more` : String(pendingCount)
}
