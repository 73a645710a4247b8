// The commands on the audits: who changed access, and who changed the catalogue or decided about bill payments.
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type AuditEntry, AuditEntrySchema } from '#gen/payweave/accounts/v1/access_pb.js'
import { type Action, ActionAuditService, ActionSchema } from '#gen/payweave/audit/v1/audit_pb.js'
import {
  type CatalogueChange,
  CatalogueChangeSchema,
} from '#gen/payweave/billing/v1/catalogue_pb.js'
import {
  type AccessWork,
  namingOptions,
  projectNamed,
  projectOption,
  withAccess,
} from './access.ts'
import { withCatalogue } from './billing/catalogue.ts'
import { type Command, type CommandContext, optionsFor } from './command.ts'
import { servicesOptions, withServices } from './operations/services.ts'
import { jsonLine, printable, time } from './output/print.ts'
import { type ListShape, pagesOf, printList } from './output/table.ts'
import { wholeNumber } from './parser/whole-number.ts'
import { UsageError } from './usage-error.ts'

const filterOptions = {
  caller: 'name as the column CALLER has it, for example "console:https://id.example.com#00u1abc"',
  target: 'what was changed, as the column TARGET has it',
  from: 'first time, ISO 8601, for example 2026-01-31T00:00:00Z',
  to: 'end of the times, exclusive',
  limit: 'maximum number (50)',
} as const

/** The services that record actions. */
const actionParts = ['payments', 'institution'] as const

/** The commands of `audit`. */
export const auditCommands: Command[] = [
  {
    name: 'audit list',
    operands: '',
    summary: 'Lists who changed access, newest first.',
    options: { ...namingOptions, ...projectOption, ...filterOptions },
    run: (context) => withAccess(context, listAccess),
  },
  {
    name: 'audit catalogue',
    operands: '',
    summary: 'Lists who changed the catalogue or decided about a bill payment, newest first.',
    options: { ...optionsFor('billing'), ...filterOptions },
    run: (context) =>
      withCatalogue(context, async (_context, catalogue) => {
        const { targetId: target, ...filter } = filterOf(context)
        const pages = pagesOf(limitOf(context), async (pageSize, pageToken) => {
          const wanted = { ...filter, target, pageSize, pageToken }
          const page = await catalogue.listCatalogueChanges(wanted)
          return { items: page.changes, nextPageToken: page.nextPageToken }
        })
        await printList(context, catalogueShape, pages)
      }),
  },
  {
    name: 'audit actions',
    operands: '',
    summary:
      'Lists who had a back end asked again, a call sent once more or a refund settled by hand, newest first by service.',
    options: {
      ...servicesOptions(actionParts),
      caller: filterOptions.caller,
      target: 'id of what it was about',
      limit: 'maximum number for each service (50)',
    },
    run: (context) =>
      withServices(context, actionParts, async (connections) => {
        const { caller, targetId: target } = filterOf(context)
        const lists = actionParts.map((part) => {
          const service = connections[part].client(ActionAuditService)
          return pagesOf(limitOf(context), async (pageSize, pageToken) => {
            const page = await service.listActions({ caller, target, pageSize, pageToken })
            return { items: page.actions, nextPageToken: page.nextPageToken }
          })
        })
        await printList(context, actionShape, allOf(lists))
      }),
  },
]

async function* allOf<T>(lists: AsyncIterable<T[]>[]): AsyncGenerator<T[]> {
  for (const list of lists) yield* list
}

const actionShape: ListShape<Action> = {
  headings: ['TIME', 'CALLER', 'ACTION', 'TARGET', 'REQUEST', 'NOTE'],
  cells: ({ actionTime, caller, action, target, requestId, note }) => [
    time(actionTime),
    ...[caller, action, target, requestId, note].map(printable),
  ],
  json: (action) => jsonLine(ActionSchema, action),
  none: 'no actions',
}

const accessShape: ListShape<AuditEntry> = {
  headings: ['TIME', 'CALLER', 'ACTION', 'TARGET', 'REQUEST', 'DETAILS'],
  cells: (entry) => [
    time(entry.occurTime),
    ...[entry.caller, entry.action, entry.targetId, entry.requestId].map(printable),
    Object.entries(entry.details)
      .map(([name, value]) => printable(`${name}=${value}`))
      .join('  '),
  ],
  json: (entry) => jsonLine(AuditEntrySchema, entry),
  none: 'no entries',
}

const catalogueShape: ListShape<CatalogueChange> = {
  headings: ['TIME', 'CALLER', 'ACTION', 'TARGET', 'REQUEST', 'NOTE'],
  cells: ({ occurTime, caller, action, target, requestId, note }) => [
    time(occurTime),
    ...[caller, action, target, requestId, note].map(printable),
  ],
  json: (change) => jsonLine(CatalogueChangeSchema, change),
  none: 'no entries',
}

const listAccess: AccessWork = async (context, access) => {
  const { options } = context
  const projectId = options['project'] === undefined ? '' : await projectNamed(context, access)
  const filter = { projectId, ...filterOf(context) }
  const pages = pagesOf(limitOf(context), async (pageSize, pageToken) => {
    const page = await access.listAudit({ ...filter, pageSize, pageToken })
    return { items: page.entries, nextPageToken: page.nextPageToken }
  })
  await printList(context, accessShape, pages)
}

function limitOf({ options }: CommandContext): number {
  return wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
}

function filterOf({ options }: CommandContext) {
  const { caller = '', target: targetId = '' } = options
  const startTime = timeOf(options['from'], 'from')
  const endTime = timeOf(options['to'], 'to')
  return {
    caller,
    targetId,
    ...(startTime && { startTime }),
    ...(endTime && { endTime }),
  }
}

/** The time of an option. Throws a UsageError for a text without a date, or without its zone. */
function timeOf(text: string | undefined, option: string): Timestamp | undefined {
  if (text === undefined) return undefined
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text)
  const date = new Date(isTime ? text : Number.NaN)
  if (!Number.isNaN(date.getTime())) return timestampFromDate(date)
  throw new UsageError(`--${option} must be a time like 2026-01-31T00:00:00Z`)
}
