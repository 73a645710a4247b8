// Pushes of a project: the list, one push with its attempts, resend and cancel.
import type { FastifyInstance } from 'fastify'
import { isUuid, randomId } from '#core/identity/id.ts'
import {
  type Delivery,
  DeliveryKind,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, pathId, type Worker } from '../http/work.ts'
import {
  chosen,
  count,
  type Field,
  type Notices,
  noticeOf,
  row,
  type Section,
  text,
} from '../pages/blocks.ts'
import { sendPage, sendSections } from '../pages/render.ts'
import { attemptSentence } from '../pages/timeline.ts'
import { timeOf, valueOf, wordOf } from '../pages/words.ts'
import { orUndefined } from './found.ts'
import { formId, nextPageUrl, rowsAt, sendCsv, timeFields, timesIn, withFilters } from './list.ts'
import { pausedLanes, pausedWarning } from './receivers/pauses.ts'
import { undelivered } from './replay-list.ts'
import { registerReplays } from './replays.ts'
import { registerTail } from './tail.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200
/** Attempts on a page of one push, each with the start of its response. */
const shownAttempts = 10
const shownAnswerBytes = 1_024

/** Registers the pages below `/projects/<id>/pushes`. */
export function registerPushes(app: FastifyInstance, options: Options): void {
  const { worker, clients } = options
  const path = '/projects/:projectId/pushes'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => sendFile(work, clients), asFile),
  )
  registerTail(app, path, options)
  registerReplays(app, path, options)
  app.get(
    `${path}/:deliveryId`,
    worker.projectPage((work) => sendPush(work, clients)),
  )
  app.post(
    `${path}/:deliveryId/resend`,
    worker.projectPage(async (work) => {
      const { reply, project, form } = work
      const { projectId } = project
      const { deliveryId } = pathId(work, 'deliveryId')
      const requestId = formId(form, 'request_id')
      await clients.deliveries.replayDelivery({ projectId, deliveryId, requestId })
      return reply.redirect(`/projects/${projectId}/pushes/${deliveryId}?notice=resent`, 303)
    }),
  )
  app.post(
    `${path}/:deliveryId/cancel`,
    worker.projectPage(async (work) => {
      const { reply, project } = work
      const { projectId } = project
      const { deliveryId } = pathId(work, 'deliveryId')
      await clients.deliveries.cancelDelivery({ projectId, deliveryId })
      return reply.redirect(`/projects/${projectId}/pushes/${deliveryId}?notice=cancelled`, 303)
    }),
  )
}

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid time. */
function filterOf({ query, project: { projectId } }: ProjectWork) {
  return {
    projectId,
    subjectId: query.get('subject') ?? '',
    kind: valueOf(DeliveryKind, query.get('kind')) ?? DeliveryKind.UNSPECIFIED,
    state: valueOf(DeliveryState, query.get('state')) ?? DeliveryState.UNSPECIFIED,
    ...timesIn(query),
  }
}

async function sendList(work: ProjectWork, clients: Clients) {
  const { request, reply, project, query, may } = work
  const base = `/projects/${project.projectId}/pushes`
  const wanted = { ...filterOf(work), pageToken: query.get('page') ?? '' }
  const [listed, paused] = await Promise.all([
    clients.deliveries.listDeliveries(wanted),
    pausedLanes(work, clients),
  ])
  const list: Section = {
    warning: pausedWarning(paused),
    filters: {
      fields: [
        chosen('State', 'state', DeliveryState, query),
        chosen('Kind', 'kind', DeliveryKind, query),
        {
          label: 'Payment or account id',
          name: 'subject',
          value: query.get('subject') ?? '',
          maxlength: 64,
        },
        ...timeFields(query),
      ],
      links: [
        { label: 'CSV', href: withFilters(`${base}.csv`, request.url) },
        { label: 'Live tail', href: `${base}/tail` },
        { label: 'Replays', href: `${base}/replays` },
        { label: 'Receivers: pause, resume', href: `/projects/${project.projectId}/receivers` },
      ],
    },
    table: {
      head: ['Push', 'Kind', 'State', 'Attempts', 'Receiver', 'Happened'],
      empty:
        'No push matches. A payment request with urls.notify or urls.callback makes some; another filter may show more.',
      rows: listed.deliveries.map((one) => [
        row(one.deliveryId, `${base}/${one.deliveryId}`),
        text(wordOf(DeliveryKind, one.kind)),
        { state: wordOf(DeliveryState, one.state) },
        count(one.attemptCount),
        text(one.origin),
        { at: one.occurredTime },
      ]),
    },
    ...nextPageUrl(request.url, listed.nextPageToken),
    rpc: 'payweave.delivery.v1.DeliveryService/ListDeliveries',
  }
  return sendSections(reply, {
    title: `Pushes of ${project.name}`,
    sections: may('payweave.delivery.v1.ReplayService/CreateReplayJob')
      ? [list, replayMany(`${base}/replays`)]
      : [list],
  })
}

const { EXHAUSTED, BLOCKED, GONE, CANCELLED, DELIVERED } = DeliveryState

const endedStates: Field = {
  label: 'Ended as',
  name: 'state',
  type: 'select',
  options: [
    { value: '', label: undelivered },
    ...[EXHAUSTED, BLOCKED, GONE, CANCELLED, DELIVERED].map((state) => {
      const word = wordOf(DeliveryState, state)
      return { value: word, label: word }
    }),
  ],
}

function replayMany(action: string): Section {
  return {
    id: 'replay',
    heading: 'Replay many',
    note: 'Sends all pushes that ended in a state again, with the same ids and bytes. Its page shows how far it is, and pauses it.',
    rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
    forms: [
      {
        action,
        button: 'Replay',
        rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
        hidden: { request_id: randomId() },
        fields: [
          endedStates,
          chosen('Kind', 'kind', DeliveryKind),
          { label: 'Receiver, such as https://shop.example.com', name: 'origin', maxlength: 2_048 },
          { label: 'Payment or account id', name: 'subject', maxlength: 64 },
          { label: 'From (UTC)', name: 'from', type: 'datetime-local' },
          { label: 'Until (UTC)', name: 'to', type: 'datetime-local' },
          { label: 'Pushes a second, 1 to 1000', name: 'rate', type: 'number', value: '50' },
        ],
      },
    ],
  }
}

function sendFile(work: ProjectWork, { deliveries }: Clients) {
  const head = [
    'delivery_id',
    'event_id',
    'kind',
    'state',
    'attempts',
    'receiver',
    'about',
    'happened',
  ]
  const filter = { ...filterOf(work), pageSize: csvPageSize }
  return sendCsv(work, 'pushes', head, async (pageToken) => {
    const page = await deliveries.listDeliveries({ ...filter, pageToken })
    const rows = page.deliveries.map((one) => [
      one.deliveryId,
      one.eventId,
      wordOf(DeliveryKind, one.kind),
      wordOf(DeliveryState, one.state),
      String(one.attemptCount),
      one.origin,
      one.subjectId,
      timeOf(one.occurredTime)?.iso ?? '',
    ])
    return { rows, nextPageToken: page.nextPageToken }
  })
}

const notices: Notices = {
  resent: 'A new round has begun: the push is sent now, with the same id and bytes.',
  cancelled: 'The push is cancelled. A POST in flight may still arrive.',
}

async function sendPush(work: ProjectWork, clients: Clients) {
  const { request, reply, project, query, may } = work
  const { deliveryId } = pathId(work, 'deliveryId')
  const { delivery } = await clients.deliveries.getDelivery({
    projectId: project.projectId,
    deliveryId,
  })
  if (delivery === undefined) throw new Error('an answer without its delivery')
  const self = `/projects/${project.projectId}/pushes/${delivery.deliveryId}`
  const isWaiting = [DeliveryState.PENDING, DeliveryState.SENDING].includes(delivery.state)
  const newestFirst = delivery.attempts.toReversed()
  const attempts = rowsAt(newestFirst, query.get('attempts'), shownAttempts)
  const ofPayment = isOfPayment(delivery) ? await asOfMerchant(clients, delivery) : undefined
  return sendPage(reply, 'push', {
    title: `Push ${delivery.deliveryId}`,
    self,
    notice: noticeOf(query, notices),
    push: {
      ...shownDelivery(delivery),
      eventType: ofPayment?.eventType,
      url: ofPayment?.url ?? `${delivery.origin}${delivery.path}`,
      subjectUrl: isOfPayment(delivery)
        ? `/projects/${project.projectId}/payments/${delivery.subjectId}`
        : undefined,
    },
    content: new TextDecoder().decode(delivery.body),
    attempts: attempts.rows.map((one) => ({
      startTime: one.startTime,
      sentence: attemptSentence(one),
      answer: new TextDecoder().decode(one.answer.subarray(0, shownAnswerBytes)),
    })),
    pager: nextPageUrl(request.url, attempts.nextPageToken, 'attempts'),
    noNextAttempt: whyNoMore[delivery.state],
    forms: actionsOf(self, isWaiting).filter(({ rpc }) => may(rpc)),
  })
}

/** Why there is no next attempt. */
const whyNoMore: Record<DeliveryState, string> = {
  [DeliveryState.UNSPECIFIED]: 'its state is not known',
  [DeliveryState.PENDING]: 'its time is not known',
  [DeliveryState.SENDING]: 'one is in flight',
  [DeliveryState.DELIVERED]: 'it is delivered',
  [DeliveryState.EXHAUSTED]: 'every attempt failed; Resend begins a new round',
  [DeliveryState.GONE]: 'the receiver responded 410, which ends its pushes about this subject',
  [DeliveryState.BLOCKED]: 'its address is not public, or no key can sign it',
  [DeliveryState.CANCELLED]: 'it was cancelled',
}

/** A push that waits can be cancelled, one that has ended be sent again. */
function actionsOf(self: string, isWaiting: boolean) {
  const cancel = {
    action: `${self}/cancel`,
    button: 'Cancel',
    rpc: 'payweave.delivery.v1.DeliveryService/CancelDelivery',
    isDangerous: true,
  } as const
  const resend = {
    action: `${self}/resend`,
    button: 'Resend',
    rpc: 'payweave.delivery.v1.DeliveryService/ReplayDelivery',
    hidden: { request_id: randomId() },
  } as const
  return isWaiting ? [cancel] : [resend]
}

function isOfPayment({ kind, subjectId }: Delivery): boolean {
  return kind !== DeliveryKind.ONBOARDING && isUuid(subjectId)
}

/** Event and whole address of a push of a payment; undefined for one from before deliveries had a merchant. */
async function asOfMerchant(clients: Clients, { projectId, subjectId, deliveryId }: Delivery) {
  return await orUndefined(async () => {
    const { payment } = await clients.payments.getPayment({ projectId, paymentId: subjectId })
    const merchantId = payment?.merchantId ?? ''
    const own = { projectId, merchantId, deliveryId }
    return (await clients.merchantDeliveries.getMerchantDelivery(own)).delivery
  })
}

function shownDelivery(delivery: Delivery) {
  return {
    ...delivery,
    kind: wordOf(DeliveryKind, delivery.kind),
    state: wordOf(DeliveryState, delivery.state),
  }
}
