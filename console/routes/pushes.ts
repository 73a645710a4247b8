// Pushes of a project: the list, one push with its attempts, resend and cancel.
import type { FastifyInstance } from 'fastify'
import { isUuid, randomId } from '#core/identity/id.ts'
import {
  type Attempt,
  AttemptOutcome,
  type Delivery,
  DeliveryKind,
  DeliveryState,
} from '#gen/delivery/v1/delivery_pb.js'
import type { Clients } from '../clients.ts'
import { type ProjectWork, pathId, type Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { choices, timeOf, valueOf, wordOf } from '../pages/words.ts'
import { nextPageUrl, sendCsv, withFilters } from './list.ts'
import { registerReplays } from './replays.ts'
import { registerTail } from './tail.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

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
    worker.projectFile((work) => sendFile(work, clients)),
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
      const requestId = form.get('request_id') ?? ''
      await clients.deliveries.replayDelivery({ projectId, deliveryId, requestId })
      return reply.redirect(`/projects/${projectId}/pushes/${deliveryId}?said=resent`, 303)
    }),
  )
  app.post(
    `${path}/:deliveryId/cancel`,
    worker.projectPage(async (work) => {
      const { reply, project } = work
      const { projectId } = project
      const { deliveryId } = pathId(work, 'deliveryId')
      await clients.deliveries.cancelDelivery({ projectId, deliveryId })
      return reply.redirect(`/projects/${projectId}/pushes/${deliveryId}?said=cancelled`, 303)
    }),
  )
}

function filterOf({ query, project: { projectId } }: ProjectWork) {
  return {
    projectId,
    subjectId: query.get('subject') ?? '',
    kind: valueOf(DeliveryKind, query.get('kind')) ?? DeliveryKind.UNSPECIFIED,
    state: valueOf(DeliveryState, query.get('state')) ?? DeliveryState.UNSPECIFIED,
  }
}

async function sendList(work: ProjectWork, { deliveries }: Clients) {
  const { request, reply, project, query, may } = work
  const base = `/projects/${project.projectId}/pushes`
  const listed = await deliveries.listDeliveries({
    ...filterOf(work),
    pageToken: query.get('page') ?? '',
  })
  return sendPage(reply, 'pushes', {
    title: `Pushes of ${project.name}`,
    base,
    deliveries: listed.deliveries.map(shownDelivery),
    kinds: choices(DeliveryKind),
    states: choices(DeliveryState),
    chosen: {
      kind: query.get('kind'),
      state: query.get('state'),
      subject: query.get('subject') ?? '',
    },
    csvUrl: withFilters(`${base}.csv`, request.url),
    tailUrl: `${base}/tail`,
    mayReplay: may('delivery.v1.ReplayService/CreateReplayJob'),
    requestId: randomId(),
    ...nextPageUrl(request.url, listed.nextPageToken),
  })
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
  return sendCsv(work.reply, 'pushes', head, async (pageToken) => {
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

const said: Record<string, string> = {
  resent: 'A new round has begun: the push is sent now, with the same id and bytes.',
  cancelled: 'The push is cancelled. A POST in flight may still arrive.',
}

async function sendPush(work: ProjectWork, { deliveries }: Clients) {
  const { reply, project, query, may } = work
  const { deliveryId } = pathId(work, 'deliveryId')
  const { delivery } = await deliveries.getDelivery({ projectId: project.projectId, deliveryId })
  if (delivery === undefined) throw new Error('an answer without its delivery')
  const self = `/projects/${project.projectId}/pushes/${delivery.deliveryId}`
  const isWaiting = [DeliveryState.PENDING, DeliveryState.SENDING].includes(delivery.state)
  const isOfPayment = delivery.kind !== DeliveryKind.ONBOARDING && isUuid(delivery.subjectId)
  return sendPage(reply, 'push', {
    title: `Push ${delivery.deliveryId}`,
    self,
    said: said[query.get('said') ?? ''],
    push: {
      ...shownDelivery(delivery),
      subjectUrl: isOfPayment
        ? `/projects/${project.projectId}/payments/${delivery.subjectId}`
        : undefined,
    },
    attempts: delivery.attempts.map((one) => ({
      startTime: one.startTime,
      sentence: sentenceOf(one),
      answer: new TextDecoder().decode(one.answer),
    })),
    mayResend: !isWaiting && may('delivery.v1.DeliveryService/ReplayDelivery'),
    mayCancel: isWaiting && may('delivery.v1.DeliveryService/CancelDelivery'),
    requestId: randomId(),
  })
}

function shownDelivery(delivery: Delivery) {
  return {
    ...delivery,
    kind: wordOf(DeliveryKind, delivery.kind),
    state: wordOf(DeliveryState, delivery.state),
  }
}

/** One attempt in words: `attempt 2: your server answered 500 after 34 ms`. */
function sentenceOf({ number, outcome, status, durationMs, error }: Attempt): string {
  const after = `after ${durationMs} ms`
  const words: Partial<Record<AttemptOutcome, string>> = {
    [AttemptOutcome.STARTED]: 'is in flight',
    [AttemptOutcome.DELIVERED]: `your server answered ${status} ${after}`,
    [AttemptOutcome.REFUSED]: `your server answered ${status} ${after}`,
    [AttemptOutcome.TIMED_OUT]: `your server gave no complete answer in ${durationMs} ms`,
    [AttemptOutcome.CONNECTION_FAILED]: `no connection ${after}: ${error}`,
    [AttemptOutcome.BLOCKED]: 'not sent: the address of your server is not public',
    [AttemptOutcome.UNSIGNED]: 'not sent: it could not be signed',
  }
  return `attempt ${number}: ${words[outcome] ?? 'it is not known whether your server got it'}`
}
