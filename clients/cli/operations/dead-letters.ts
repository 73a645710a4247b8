// The command on dead letters of events, in all services that produce or consume events.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  DeadLetterSide,
  type EventDeadLetter,
  type EventDeadLetterDecision,
  EventDeadLetterDecisionSchema,
  EventDeadLetterSchema,
  EventDeadLetterService,
} from '#gen/payweave/events/v1/event_dead_letter_pb.js'
import type { Command, CommandContext } from '../command.ts'
import { jsonLine, printable, time, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { servicesOptions, withServices } from './services.ts'

/** Consumers before producers: in this order an event is retried. */
const parts = ['delivery', 'accounts', 'payments'] as const

/** `events dead`. */
export const eventDeadLettersCommand: Command = {
  name: 'events dead',
  operands: 'list | retry <event id> | discard <event id> | decisions',
  operandWords: ['list', 'retry', 'discard', 'decisions'],
  summary:
    'Lists events that a consumer has rejected, has one processed again or discards it for ever, or lists who did so.',
  options: {
    ...servicesOptions(parts),
    event: 'with list and decisions: UUID of an event',
    service: `with list and decisions: ${parts.join(', ')}`,
    note: 'with discard: why, and what was done instead',
    limit: 'with list and decisions: maximum number for each service (50)',
  },
  run: (context) => withServices(context, parts, (connections) => run(context, connections)),
}

type Service = Client<typeof EventDeadLetterService>
type Services = { part: string; service: Service }[]

async function run(
  context: CommandContext,
  connections: Parameters<Parameters<typeof withServices<(typeof parts)[number], void>>[2]>[0],
): Promise<void> {
  const [word = 'list', id, ...others] = context.operands
  const services = parts.map((part) => {
    return { part, service: connections[part].client(EventDeadLetterService) }
  })
  const ofFilter = servicesOf(context, services)
  const isDecision = word === 'retry' || word === 'discard'
  if (others.length > 0 || isDecision !== (id !== undefined)) throw usage()
  if (isDecision) refuseFilters(context, word)
  if (word === 'list') return printList(context, letterShape, letters(context, ofFilter))
  if (word === 'decisions') return printList(context, decisionShape, decisions(context, ofFilter))
  if (!isDecision || id === undefined) throw usage()
  const note = context.options['note'] ?? ''
  if (word === 'discard' && note === '') throw new UsageError('--note is missing')
  await decide(services, id, async (service, deadLetterId) => {
    if (word === 'retry') await service.retryEventDeadLetter({ deadLetterId })
    else await service.discardEventDeadLetter({ deadLetterId, note })
  })
  context.print(
    context.json
      ? JSON.stringify({ event_id: id, decision: word })
      : word === 'retry'
        ? `event ${id} is processed again`
        : `event ${id} is discarded`,
  )
}

/** The services whose lists are wanted. Throws a UsageError for one without dead letters. */
function servicesOf({ options }: CommandContext, services: Services): Services {
  const wanted = options['service']
  const found = services.filter(({ part }) => part === (wanted ?? part))
  if (found.length === 0) throw new UsageError(`--service must be one of ${parts.join(', ')}`)
  return found
}

/** A decision is about an event in all services: a filter beside it would be taken for a limit of the decision. */
function refuseFilters({ options }: CommandContext, word: string): void {
  const filter = ['event', 'service', 'limit'].find((name) => options[name] !== undefined)
  if (filter !== undefined) {
    throw new UsageError(`--${filter} cannot be combined with ${word}, which is for all services`)
  }
}

function usage(): UsageError {
  return new UsageError('say "list", "decisions", or "retry" or "discard" and the id of an event')
}

type Letter = { part: string; letter: EventDeadLetter }

const letterShape: ListShape<Letter> = {
  headings: ['SINCE', 'SERVICE', 'SIDE', 'EVENT', 'SUBJECT', 'REASON'],
  cells: ({ part, letter }) => [
    time(letter.sinceTime),
    part,
    wordOf(DeadLetterSide, letter.side),
    letter.eventId === '' ? `none: ${letter.deadLetterId}` : letter.eventId,
    ...[letter.subject, letter.reason].map(printable),
  ],
  json: ({ part, letter }) => withService(part, jsonLine(EventDeadLetterSchema, letter)),
  none: 'no dead letters',
}

type Decided = { part: string; decision: EventDeadLetterDecision }

const decisionShape: ListShape<Decided> = {
  headings: ['TIME', 'SERVICE', 'CALLER', 'DECISION', 'EVENT', 'SUBJECT', 'NOTE'],
  cells: ({ part, decision }) => [
    time(decision.decideTime),
    part,
    printable(decision.caller),
    decision.discarded ? 'discarded' : 'retried',
    decision.deadLetter?.eventId || `none: ${decision.deadLetter?.deadLetterId ?? ''}`,
    ...[decision.deadLetter?.subject ?? '', decision.note].map(printable),
  ],
  json: ({ part, decision }) =>
    withService(part, jsonLine(EventDeadLetterDecisionSchema, decision)),
  none: 'no decisions',
}

/** A line of JSON with the service that has the thing. */
function withService(service: string, line: string): string {
  return JSON.stringify({ service, ...(JSON.parse(line) as object) })
}

async function* letters(context: CommandContext, services: Services): AsyncGenerator<Letter[]> {
  const eventId = context.options['event'] ?? ''
  for (const { part, service } of services) {
    yield* pagesOf(limitOf(context), async (pageSize, pageToken) => {
      const page = await service.listEventDeadLetters({ eventId, pageSize, pageToken })
      const items = page.deadLetters.map((letter) => ({ part, letter }))
      return { items, nextPageToken: page.nextPageToken }
    })
  }
}

async function* decisions(context: CommandContext, services: Services): AsyncGenerator<Decided[]> {
  const eventId = context.options['event'] ?? ''
  for (const { part, service } of services) {
    yield* pagesOf(limitOf(context), async (pageSize, pageToken) => {
      const wanted = { eventId, pageSize, pageToken }
      const page = await service.listEventDeadLetterDecisions(wanted)
      const items = page.decisions.map((decision) => ({ part, decision }))
      return { items, nextPageToken: page.nextPageToken }
    })
  }
}

function limitOf({ options }: CommandContext): number {
  return wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
}

/**
 * Decides about all dead letters of an event; an id of no event is that of a dead letter. Rejects with DEAD_LETTER_NOT_FOUND when no
 * service has one.
 */
async function decide(
  services: Services,
  id: string,
  act: (service: Service, deadLetterId: string) => Promise<void>,
): Promise<void> {
  const found: { service: Service; deadLetterId: string }[] = []
  for (const { service } of services) {
    const { deadLetters } = await service.listEventDeadLetters({ eventId: id })
    // In accounts, an inbox before the outbox.
    const ordered = deadLetters.toSorted((one, other) => other.side - one.side)
    found.push(...ordered.map(({ deadLetterId }) => ({ service, deadLetterId })))
  }
  if (found.length > 0) {
    for (const { service, deadLetterId } of found) await act(service, deadLetterId)
    return
  }
  for (const { service } of services) {
    try {
      return await act(service, id)
    } catch (error) {
      if (!(error instanceof Failure) || error.reason !== 'DEAD_LETTER_NOT_FOUND') throw error
    }
  }
  throw new Failure('DEAD_LETTER_NOT_FOUND', `no service has a dead letter of ${id}`)
}
