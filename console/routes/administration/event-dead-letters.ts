// Events that a consumer has rejected, by service: the lists with their file, a retry, a discard, and who decided what.
import type { FastifyInstance } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import {
  DeadLetterSide,
  type EventDeadLetter,
  type EventDeadLetterDecision,
} from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import type { Clients } from '../../clients.ts'
import type { May } from '../../http/shell.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  chosenWord,
  code,
  type Field,
  type Form,
  type Notices,
  noticeOf,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, wordOf } from '../../pages/words.ts'
import type { NameOf } from '../../sign-in/people.ts'
import { sought } from '../found.ts'
import { chained, idIn, nextPageUrl, noneMatches, oneOf, sendCsv, withFilters } from '../list.ts'
import type { Looker, Thing } from '../look-up.ts'

const path = '/dead-letters/events'
/** Most rows have two forms. */
const pageSize = 6
const csvPageSize = 200

/** The services that have dead letters, consumers before producers: in this order an event is retried. */
const services = ['delivery', 'accounts', 'payments'] as const

type Options = { worker: Worker; clients: Clients }

/** Registers `/dead-letters/events`, its file, its decisions and who made them. */
export function registerEventDeadLetters(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    path,
    worker.page((work) => show(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.page(
      (work) =>
        sendCsv(
          work,
          'event-dead-letters',
          csvHead,
          chained(
            wantedServices(work).map((service) => async (pageToken: string) => {
              const wanted = { ...filterOf(work), pageSize: csvPageSize, pageToken }
              const page = await clients.eventDeadLetters[service].listEventDeadLetters(wanted)
              const rows = page.deadLetters.map((letter) => csvCells(service, letter))
              return { rows, nextPageToken: page.nextPageToken }
            }),
          ),
        ),
      asFile,
    ),
  )
  app.get(
    `${path}/decisions`,
    worker.page((work) => showDecisions(work, clients)),
  )
  app.get(
    `${path}/decisions.csv`,
    worker.page((work) => sendDecisions(work, clients), asFile),
  )
  app.post(
    `${path}/retry`,
    worker.page(async ({ reply, form }) => {
      await decide(clients, form, (client, deadLetterId) =>
        client.retryEventDeadLetter({ deadLetterId }),
      )
      return reply.redirect(`${path}?notice=retried`, 303)
    }),
  )
  app.post(
    `${path}/discard`,
    worker.page(async ({ reply, form }) => {
      const note = form.get('note')?.trim() ?? ''
      if (note === '') throw invalid('note', 'must say why')
      await decide(clients, form, (client, deadLetterId) =>
        client.discardEventDeadLetter({ deadLetterId, note }),
      )
      return reply.redirect(`${path}?notice=discarded`, 303)
    }),
  )
}

const notices: Notices = {
  retried: 'The event is published and processed again. One that is rejected again comes back.',
  discarded: 'The event is discarded: it is not processed any more.',
}

type Service = Clients['eventDeadLetters'][(typeof services)[number]]

/**
 * Decides about the event on all sides; a message that is no event has one dead letter alone. Rejects with DEAD_LETTER_NOT_FOUND when
 * none is left, as when somebody else has decided since the page was opened.
 */
async function decide(
  { eventDeadLetters }: Clients,
  form: URLSearchParams,
  act: (client: Service, deadLetterId: string) => Promise<unknown>,
): Promise<void> {
  const eventId = form.get('event_id') ?? ''
  if (eventId === '') {
    const service = services.find((name) => name === form.get('service'))
    if (service === undefined) throw invalid('service', 'must be one with dead letters')
    await act(eventDeadLetters[service], form.get('dead_letter_id') ?? '')
    return
  }
  let isDecided = false
  for (const service of services) {
    const client = eventDeadLetters[service]
    const { deadLetters } = await client.listEventDeadLetters({ eventId })
    // In accounts, an inbox before the outbox.
    for (const { deadLetterId } of deadLetters.toSorted((one, other) => other.side - one.side)) {
      await act(client, deadLetterId)
      isDecided = true
    }
  }
  if (!isDecided) {
    throw new Failure(
      'DEAD_LETTER_NOT_FOUND',
      'No dead letter of this event is left: somebody may have decided meanwhile. See Decisions.',
    )
  }
}

/** The services that the query asks for. Throws INVALID_PARAMETER for one that has no dead letters. */
function wantedServices({ query }: Work) {
  const wanted = oneOf(query, 'service', services)
  return wanted === undefined ? services : [wanted]
}

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid id. */
function filterOf({ query }: Work) {
  return { eventId: idIn(query, 'event') }
}

function fieldsOf({ query }: Work): Field[] {
  return [
    { label: 'Event id', name: 'event', value: query.get('event') ?? '', maxlength: 36 },
    chosenWord('Service', 'service', services, query),
  ]
}

async function show(work: Work, clients: Clients) {
  const { request, reply, query, may } = work
  const filter = filterOf(work)
  const sections = await Promise.all(
    wantedServices(work).map(async (service): Promise<Section> => {
      const wanted = { ...filter, pageSize, pageToken: query.get(service) ?? '' }
      const page = await clients.eventDeadLetters[service].listEventDeadLetters(wanted)
      return {
        id: service,
        heading: `In ${service}`,
        table: {
          head: ['Since', 'Side', 'Event', 'Subject', 'Why', 'Decide'],
          empty:
            filter.eventId === '' ? 'No event was rejected.' : 'No dead letter has this event.',
          rows: page.deadLetters.map((letter) => rowOf(service, letter, may)),
        },
        ...nextPageUrl(request.url, page.nextPageToken, service),
        rpc: listRpc,
        commands: ['events dead list', 'events dead retry', 'events dead discard'],
      }
    }),
  )
  return sendSections(reply, {
    title: 'Dead letters of events',
    notice: noticeOf(query, notices),
    sections: [
      {
        note: 'A consumer can never process these. Roll out a release that can, then retry; an event that must not be processed is discarded, with a note that stays.',
        filters: {
          fields: fieldsOf(work),
          links: [
            { label: 'CSV', href: withFilters(`${path}.csv`, request.url) },
            { label: 'Decisions', href: `${path}/decisions` },
            { label: 'Pushes', href: '/dead-letters' },
          ],
        },
      },
      ...sections,
    ],
  })
}

const listRpc = 'payweave.events.v1.EventDeadLetterService/ListEventDeadLetters'
const decisionsRpc = 'payweave.events.v1.EventDeadLetterService/ListEventDeadLetterDecisions'
const retryRpc = 'payweave.events.v1.EventDeadLetterService/RetryEventDeadLetter'
const discardRpc = 'payweave.events.v1.EventDeadLetterService/DiscardEventDeadLetter'

function rowOf(service: string, letter: EventDeadLetter, may: May): Cell[] {
  const { deadLetterId, eventId, side, subject, reason, consumers, sinceTime } = letter
  const hidden = { service, event_id: eventId, dead_letter_id: deadLetterId }
  const retry: Form = { action: `${path}/retry`, button: 'Retry', rpc: retryRpc, hidden }
  const discard: Form = {
    action: `${path}/discard`,
    button: 'Discard',
    rpc: discardRpc,
    isDangerous: true,
    hidden,
    fields: [{ label: 'Why', name: 'note', maxlength: 2_000, isRequired: true }],
  }
  const mayRetry = may(retryRpc)
  const mayDiscard = may(discardRpc)
  const forms = [...(mayRetry && eventId !== '' ? [retry] : []), ...(mayDiscard ? [discard] : [])]
  return [
    { at: sinceTime },
    text(wordOf(DeadLetterSide, side)),
    code(eventId || 'none'),
    code(subject),
    text([reason, ...consumers].join(', ')),
    forms.length === 0 ? text('') : { forms },
  ]
}

/**
 * Whether a decision is about the event of a filter, or there is none.
 * A replica of the previous release, without the filter, answers with others.
 */
function isAbout(eventId: string): (decision: EventDeadLetterDecision) => boolean {
  return ({ deadLetter }) => eventId === '' || deadLetter?.eventId === eventId
}

async function showDecisions(work: Work, clients: Clients) {
  const { request, reply, query, namesOf } = work
  const filter = filterOf(work)
  const sections = await Promise.all(
    wantedServices(work).map(async (service): Promise<Section> => {
      const wanted = { ...filter, pageSize, pageToken: query.get(service) ?? '' }
      const client = clients.eventDeadLetters[service]
      const page = await client.listEventDeadLetterDecisions(wanted)
      const nameOf = await namesOf(page.decisions.map(({ caller }) => caller))
      return {
        heading: `In ${service}`,
        table: {
          head: ['When', 'Who', 'Did', 'Event', 'Subject', 'Note', 'Request'],
          empty: filter.eventId === '' ? 'Nobody has decided anything.' : noneMatches('decision'),
          rows: page.decisions
            .filter(isAbout(filter.eventId))
            .map((one) => decisionRow(one, nameOf)),
        },
        ...nextPageUrl(request.url, page.nextPageToken, service),
        rpc: decisionsRpc,
        commands: ['events dead decisions'],
      }
    }),
  )
  const links = [
    { label: 'CSV', href: withFilters(`${path}/decisions.csv`, request.url) },
    { label: 'Dead letters', href: path },
  ]
  return sendSections(reply, {
    title: 'Decisions about events',
    sections: [{ filters: { fields: fieldsOf(work), links } }, ...sections],
  })
}

function sendDecisions(work: Work, { eventDeadLetters }: Clients) {
  const filter = filterOf(work)
  const read = chained(
    wantedServices(work).map((service) => async (pageToken: string) => {
      const wanted = { ...filter, pageSize: csvPageSize, pageToken }
      const page = await eventDeadLetters[service].listEventDeadLetterDecisions(wanted)
      const wantedOnes = page.decisions.filter(isAbout(filter.eventId))
      const rows = wantedOnes.map((one) => decisionCells(service, one))
      return { rows, nextPageToken: page.nextPageToken }
    }),
  )
  return sendCsv(work, 'event-decisions', decisionHead, read)
}

const decisionHead = [
  'decided',
  'service',
  'caller',
  'decision',
  'event_id',
  'subject',
  'note',
  'request_id',
]

function decisionCells(service: string, one: EventDeadLetterDecision): string[] {
  const { decideTime, caller, discarded, deadLetter, note, requestId } = one
  const what = discarded ? 'discarded' : 'retried'
  const { eventId = '', subject = '' } = deadLetter ?? {}
  return [timeOf(decideTime)?.iso ?? '', service, caller, what, eventId, subject, note, requestId]
}

function decisionRow(one: EventDeadLetterDecision, nameOf: NameOf): Cell[] {
  return [
    { at: one.decideTime },
    text(nameOf(one.caller)),
    { state: one.discarded ? 'discarded' : 'retried' },
    code(one.deadLetter?.eventId || 'none'),
    code(one.deadLetter?.subject ?? ''),
    text(one.note),
    code(one.requestId),
  ]
}

const csvHead = [
  'since',
  'service',
  'side',
  'dead_letter_id',
  'event_id',
  'subject',
  'project_id',
  'reason',
]

function csvCells(service: string, letter: EventDeadLetter): string[] {
  const { sinceTime, side, deadLetterId, eventId, subject, projectId, reason } = letter
  const word = wordOf(DeadLetterSide, side)
  return [
    timeOf(sinceTime)?.iso ?? '',
    service,
    word,
    deadLetterId,
    eventId,
    subject,
    projectId,
    reason,
  ]
}

/** The oldest one of each service, for the Inbox; nothing where there are none. */
export async function rejectedEvents(clients: Clients): Promise<Section[]> {
  const pages = await Promise.all(
    services.map(async (service) => {
      const page = await clients.eventDeadLetters[service].listEventDeadLetters({ pageSize: 1 })
      return page.deadLetters.map((letter) => ({ service, letter }))
    }),
  )
  const found = pages.flat()
  if (found.length === 0) return []
  return [
    {
      heading: 'Rejected events',
      note: 'The oldest event of each service that a consumer can never process.',
      table: {
        head: ['Since', 'Service', 'Event', 'Why'],
        empty: '',
        rows: found.map(({ service, letter }) => [
          { at: letter.sinceTime },
          text(service),
          code(letter.eventId || 'none', `${path}#${service}`),
          text(letter.reason),
        ]),
      },
      rpc: listRpc,
      commands: ['events dead list'],
    },
  ]
}

/** The dead letters of the event with this id or, where none is left, who decided about it, for those who may list them. */
export async function findEvent(
  { may, within, missing }: Looker,
  { eventDeadLetters }: Clients,
  eventId: string,
): Promise<(Thing & { rpc: string })[]> {
  if (!isUuid(eventId) || !may(listRpc)) return []
  const wanted = { eventId, pageSize: 1 }
  const found = await within(undefined, () =>
    Promise.all(
      Object.entries(eventDeadLetters).map(([name, service]) =>
        sought(missing, `each rejected event of ${name}`, () =>
          Promise.all([
            service.listEventDeadLetters(wanted),
            service.listEventDeadLetterDecisions({ eventId, pageSize: csvPageSize }),
          ]),
        ),
      ),
    ),
  )
  const lists = found.filter((one) => one !== undefined)
  if (lists.some(([{ deadLetters }]) => deadLetters.length > 0))
    return [{ path: `${path}?event=${eventId}`, label: 'dead letters of the event', rpc: listRpc }]
  const isDecided = lists.some(([, page]) => page.decisions.some(isAbout(eventId)))
  const decisions = `${path}/decisions?event=${eventId}`
  return isDecided
    ? [{ path: decisions, label: 'decisions about the event', rpc: decisionsRpc }]
    : []
}
