// Receivers of pushes, of a project or, for the staff, of all: lanes with their limits, backlogs and circuit breakers.
import type { FastifyInstance } from 'fastify'
import { randomId } from '#core/identity/id.ts'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, type Endpoint } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { Clients } from '../../clients.ts'
import { projectNames } from '../../http/projects.ts'
import { asFile, type ProjectWork, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  chosen,
  chosenWord,
  count,
  type Filters,
  type Form,
  noticeOf,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf, wordOf } from '../../pages/words.ts'
import { formId, nextPageUrl, noneMatches, sendCsv, withFilters } from '../list.ts'
import { rateOf } from '../replays.ts'
import {
  pauseCell,
  pausedLanes,
  pausedWarning,
  pauseNotices,
  pausesField,
  pausesSection,
  registerPauses,
} from './pauses.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200
/** Each row has two forms. */
const shownPageSize = 18

const breakerNote =
  'Pushes of one kind to one origin share a limit and a circuit breaker. An open breaker sends nothing until its time; then one push tries whether the receiver has recovered.'

const replayNote =
  'A replay sends the pushes of a lane that were given up once more; its page pauses it.'

/** Registers `/projects/<id>/receivers`, `/receivers` and the replay of a lane, and their files. */
export function registerReceivers(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/receivers'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const { projectId } = work.project
      const filter = { projectId, ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'receivers', csvHead, async (pageToken) => {
        const page = await clients.endpoints.listEndpoints({ ...filter, pageToken })
        return { rows: page.endpoints.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    '/receivers',
    worker.page((work) => sendAll(work, clients)),
  )
  app.get(
    '/receivers.csv',
    worker.page((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'receivers', ['project_id', ...csvHead], async (pageToken) => {
        const page = await clients.endpoints.listAllEndpoints({ ...filter, pageToken })
        const rows = page.endpoints.map((one) => [one.projectId, ...csvCells(one)])
        return { rows, nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  registerPauses(app, { worker, clients })
  app.post(
    '/receivers/replays',
    worker.page((work) => replayLane(work, clients)),
  )
}

/** What each row shows, and its heads. */
const columns = ['Breaker', 'Until', 'Paused', 'Waiting', 'In flight', 'Due since']

function lineOf(one: Endpoint): Cell[] {
  return [
    { state: `breaker ${wordOf(BreakerState, one.breaker)}` },
    { at: one.openUntilTime },
    { at: one.pauseTime },
    count(waiting(one)),
    count(`${one.sendingCount} of ${one.limitNow}`),
    { at: one.oldestDueTime },
  ]
}

async function sendList(work: ProjectWork, clients: Clients) {
  const { request, reply, project, query, may } = work
  const mayReplay = may('payweave.delivery.v1.ReplayService/CreateReplayJob')
  const pageToken = query.get('page') ?? ''
  const { projectId } = project
  const base = `/projects/${projectId}/receivers`
  const { fields, links } = filtersOf(work, `${base}.csv`)
  const pausesFile = withFilters(`${base}/pauses.csv`, request.url)
  const wanted = { projectId, ...filterOf(work), pageToken, pageSize: shownPageSize }
  const [listed, paused, pauses] = await Promise.all([
    clients.endpoints.listEndpoints(wanted),
    pausedLanes(work, clients),
    pausesSection(work, clients),
  ])
  return sendSections(reply, {
    title: `Receivers of ${project.name}`,
    notice: noticeOf(query, pauseNotices),
    sections: [
      {
        warning: pausedWarning(paused),
        note: `${breakerNote} ${replayNote}`,
        filters: {
          fields: [...fields, pausesField(work)],
          links: [...links, { label: 'CSV of the pauses', href: pausesFile }],
        },
        table: {
          head: ['Receiver', 'Kind', ...columns, 'Replay', 'Pause'],
          empty:
            query.has('breaker') || query.has('paused')
              ? noneMatches('receiver')
              : 'Nothing was pushed yet. A payment request with urls.notify or urls.callback makes the first push.',
          rows: listed.endpoints.map((one) => [
            text(one.origin),
            text(wordOf(DeliveryKind, one.kind)),
            ...lineOf(one),
            mayReplay
              ? { forms: [replayForm(one, `/projects/${projectId}/pushes/replays`)] }
              : text('developers replay'),
            pauseCell(work, one, base),
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.delivery.v1.EndpointService/ListEndpoints',
        commands: ['deliveries lanes', 'deliveries replay'],
      },
      pauses,
    ],
  })
}

function filtersOf({ request, query }: Work, file: string): Required<Filters> {
  return {
    fields: [
      chosen('Breaker', 'breaker', BreakerState, query),
      chosenWord('Paused', 'paused', ['yes'], query),
    ],
    links: [{ label: 'CSV', href: withFilters(file, request.url) }],
  }
}

function filterOf({ query }: Work) {
  return {
    breaker: valueOf(BreakerState, query.get('breaker')) ?? BreakerState.UNSPECIFIED,
    onlyPaused: query.get('paused') === 'yes',
  }
}

async function sendAll(work: Work, clients: Clients) {
  const { request, reply, query, may } = work
  const wanted = { ...filterOf(work), pageToken: query.get('page') ?? '', pageSize: shownPageSize }
  const [listed, { endpoints: paused }, nameOf] = await Promise.all([
    clients.endpoints.listAllEndpoints(wanted),
    clients.endpoints.listAllEndpoints({ onlyPaused: true }),
    projectNames(work, clients),
  ])
  const mayReplay = may('payweave.delivery.v1.ReplayService/CreateReplayJob')
  return sendSections(reply, {
    title: 'Receivers of all projects',
    notice: noticeOf(query, pauseNotices),
    sections: [
      {
        warning: pausedWarning(paused),
        note: `${breakerNote} ${replayNote}`,
        filters: filtersOf(work, '/receivers.csv'),
        table: {
          head: ['Receiver', 'Kind', 'Project', ...columns, 'Replay', 'Pause'],
          empty: 'No receiver matches. The first push of a project makes one.',
          rows: listed.endpoints.map((one) => [
            text(one.origin),
            text(wordOf(DeliveryKind, one.kind)),
            { text: nameOf(one.projectId), href: `/projects/${one.projectId}/receivers` },
            ...lineOf(one),
            mayReplay
              ? { forms: [replayForm(one, '/receivers/replays')] }
              : text('support replays'),
            pauseCell(work, one, '/receivers'),
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.delivery.v1.EndpointService/ListAllEndpoints',
        commands: ['deliveries receivers', 'deliveries replay', 'deliveries pause'],
      },
    ],
  })
}

function replayForm({ projectId, kind, origin }: Endpoint, action: string): Form {
  return {
    action,
    button: 'Replay',
    rpc: 'payweave.delivery.v1.ReplayService/CreateReplayJob',
    hidden: {
      project_id: projectId,
      origin,
      kind: kind === DeliveryKind.UNSPECIFIED ? '' : wordOf(DeliveryKind, kind),
      request_id: randomId(),
    },
    fields: [{ label: 'A second', name: 'rate', type: 'number', value: '50' }],
  }
}

/** Begins a replay of what was given up, and leads to its page. */
async function replayLane({ reply, form, within }: Work, { replays }: Clients) {
  const projectId = formId(form, 'project_id')
  const wanted = {
    projectId,
    idempotencyKey: formId(form, 'request_id'),
    filter: {
      kind: valueOf(DeliveryKind, form.get('kind')) ?? DeliveryKind.UNSPECIFIED,
      origin: form.get('origin') ?? '',
    },
    ratePerS: rateOf(form.get('rate')),
  }
  const { job } = await within(projectId, () => replays.createReplayJob(wanted))
  return reply.redirect(`/projects/${projectId}/pushes/replays/${job?.jobId ?? ''}`, 303)
}

const csvHead = [
  'receiver',
  'kind',
  'breaker',
  'until',
  'paused',
  'waiting',
  'in_flight',
  'limit',
  'due_since',
]

function csvCells(one: Endpoint): string[] {
  return [
    one.origin,
    wordOf(DeliveryKind, one.kind),
    wordOf(BreakerState, one.breaker),
    timeOf(one.openUntilTime)?.iso ?? '',
    timeOf(one.pauseTime)?.iso ?? '',
    waiting(one),
    String(one.sendingCount),
    String(one.limitNow),
    timeOf(one.oldestDueTime)?.iso ?? '',
  ]
}

/** The count ends at 10,000. */
const maxCounted = 10_000

function waiting({ pendingCount }: Endpoint): string {
  return pendingCount >= maxCounted ? `${maxCounted} or more` : String(pendingCount)
}
