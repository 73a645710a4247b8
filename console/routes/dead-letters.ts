// Pushes that were given up, over all projects: what refused them, the same as a CSV file, and a resend of each.
import type { FastifyInstance } from 'fastify'
import {
  type Delivery,
  DeliveryKind,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import {
  type Cell,
  chosen,
  code,
  count,
  type Notices,
  noticeOf,
  row,
  text,
} from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { timeOf, valueOf, wordOf } from '../pages/words.ts'
import { claimNotices, decideClaimed, readClaims, type ShowClaim } from './inbox/claims.ts'
import { resendForm } from './inbox/items.ts'
import { formId, nextPageUrl, sendCsv, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients }

/** States in which a push was given up. */
const { EXHAUSTED, BLOCKED, GONE } = DeliveryState
const deadStates = { [EXHAUSTED]: 'EXHAUSTED', [BLOCKED]: 'BLOCKED', [GONE]: 'GONE' }

/** Each row has a form. */
const pageSize = 22
const csvPageSize = 200

/** Registers `/dead-letters`, its file and its resend. */
export function registerDeadLetters(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/dead-letters',
    worker.page((work) => show(work, clients)),
  )
  app.get(
    '/dead-letters.csv',
    worker.page((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'dead-letters', csvHead, async (pageToken) => {
        const page = await clients.deadLetters.listDeadLetters({ ...filter, pageToken })
        return { rows: page.deliveries.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.post(
    '/dead-letters/resend',
    worker.page(async (work) => {
      const { reply, form, within } = work
      const projectId = formId(form, 'project_id')
      const deliveryId = formId(form, 'delivery_id')
      const push = { projectId, deliveryId, requestId: formId(form, 'request_id') }
      await decideClaimed(work, clients, 'dead_letter', deliveryId, () =>
        within(projectId, () => clients.deliveries.replayDelivery(push)),
      )
      return reply.redirect('/dead-letters?notice=resent', 303)
    }),
  )
}

const notices: Notices = {
  ...claimNotices,
  resent: 'A new round has begun: the push is sent now, with the same id and bytes.',
}

function filterOf({ query }: Work) {
  return { state: valueOf(deadStates, query.get('state')) ?? DeliveryState.UNSPECIFIED }
}

const csvHead = [
  'given_up',
  'delivery_id',
  'event_id',
  'project_id',
  'kind',
  'state',
  'attempts',
  'receiver',
  'about',
]

function csvCells(one: Delivery): string[] {
  return [
    timeOf(one.endTime)?.iso ?? '',
    one.deliveryId,
    one.eventId,
    one.projectId,
    wordOf(DeliveryKind, one.kind),
    wordOf(DeliveryState, one.state),
    String(one.attemptCount),
    one.origin,
    one.subjectId,
  ]
}

async function show(work: Work, clients: Clients) {
  const { request, reply, query } = work
  const wanted = { ...filterOf(work), pageToken: query.get('page') ?? '', pageSize }
  const listed = await clients.deadLetters.listDeadLetters(wanted)
  const claim = await readClaims(
    work,
    clients,
    listed.deliveries.map(({ deliveryId }) => ['dead_letter', deliveryId]),
  )
  return sendSections(reply, {
    title: 'Dead letters',
    notice: noticeOf(query, notices),
    sections: [
      {
        note: 'Pushes that were given up, the last first. To resend many of a project, open its pushes.',
        filters: {
          fields: [chosen('State', 'state', deadStates, query)],
          links: [
            { label: 'CSV', href: withFilters('/dead-letters.csv', request.url) },
            { label: 'Events', href: '/dead-letters/events' },
          ],
        },
        table: {
          head: [
            'Given up',
            'Push',
            'Kind',
            'State',
            'Attempts',
            'Receiver',
            'Project',
            'Claimed by',
            'Resend',
          ],
          empty: 'No push was given up.',
          rows: listed.deliveries.map((one) => lineOf(one, claim)),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.delivery.v1.DeadLetterService/ListDeadLetters',
        commands: ['deliveries dead-letters', 'deliveries replay', 'claim take'],
      },
    ],
  })
}

function lineOf(one: Delivery, claim: ShowClaim): Cell[] {
  const { deliveryId, projectId } = one
  const pushes = `/projects/${projectId}/pushes`
  return [
    { at: one.endTime },
    row(deliveryId, `${pushes}/${deliveryId}`),
    text(wordOf(DeliveryKind, one.kind)),
    { state: wordOf(DeliveryState, one.state) },
    count(one.attemptCount),
    text(one.origin),
    code(projectId, pushes),
    ...claim('dead_letter', deliveryId, [resendForm(one)]),
  ]
}
