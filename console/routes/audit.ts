// Who did what, and when: changes of access and of the catalogue, and every call that people made in the console.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { formatIso } from '#core/text/time.ts'
import type { AuditEntry } from '#gen/payweave/accounts/v1/access_pb.js'
import type { CatalogueChange } from '#gen/payweave/billing/v1/catalogue_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { Clients } from '../clients.ts'
import type { May } from '../http/shell.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import { type Cell, code, type Field, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { timeOf } from '../pages/words.ts'
import { type NameOf, type People, personIn, recordName } from '../sign-in/people.ts'
import { type ActivityFilter, listActivity, type SeenActivity } from '../store/activity-store.ts'
import { idIn, nextPageUrl, noneMatches, readTime, sendCsv, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients; db: Database; people: People }

const pageSize = 50
const csvPageSize = 500
/** What accounts answers at most. */
const changesPageSize = 200

/** Registers `/audit`, `/audit/catalogue` and `/audit/calls`, and their files. */
export function registerAudit(app: FastifyInstance, options: Options): void {
  const { worker, clients, db, people } = options
  app.get(
    '/audit',
    worker.page(async ({ request, reply, query, may, namesOf }) => {
      const pageToken = query.get('page') ?? ''
      const filter = await changesFilterOf(query, people)
      const listed = await clients.access.listAudit({ ...filter, pageToken })
      const nameOf = await namesOf(listed.entries.map(({ caller }) => caller))
      return sendSections(reply, {
        title: 'Audit: changes of access',
        sections: [
          {
            filters: {
              fields: [projectField(query), ...commonFields(query, 'Caller')],
              links: linksOf(may, 'access', withFilters('/audit.csv', request.url)),
            },
            table: {
              head: ['When', 'Who', 'What', 'Project', 'On', 'Details', 'Request'],
              empty: noneMatches('change'),
              rows: listed.entries.map((entry) => changeRow(entry, nameOf)),
            },
            ...nextPageUrl(request.url, listed.nextPageToken),
            rpc: 'payweave.accounts.v1.AccessService/ListAudit',
            commands: ['audit list'],
          },
        ],
      })
    }),
  )
  app.get(
    '/audit.csv',
    worker.page(async (work) => {
      const wanted = await changesFilterOf(work.query, people)
      const filter = { ...wanted, pageSize: changesPageSize }
      return sendCsv(work, 'changes', changesHead, async (pageToken) => {
        const page = await clients.access.listAudit({ ...filter, pageToken })
        return { rows: page.entries.map(changeCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  registerCatalogueAudit(app, options)
  app.get(
    '/audit/calls',
    worker.page((work) => sendCalls(work, db, people)),
  )
  app.get(
    '/audit/calls.csv',
    worker.page(async (work) => {
      requireAuditor(work)
      const filter = await filterOf(work.query, people)
      return sendCsv(work, 'calls', csvHead, async (pageToken) => {
        const rows = await listActivity(db, { ...filter, before: pageToken, limit: csvPageSize })
        return { rows: rows.map(csvCells), nextPageToken: tokenAfter(rows, csvPageSize) }
      })
    }, asFile),
  )
}

function registerCatalogueAudit(
  app: FastifyInstance,
  { worker, clients, people }: Omit<Options, 'db'>,
): void {
  app.get(
    '/audit/catalogue',
    worker.page(async ({ request, reply, query, may, namesOf }) => {
      const { caller, targetId: target, ...times } = await changesFilterOf(query, people)
      const pageToken = query.get('page') ?? ''
      const wanted = { caller, target, ...times, pageToken }
      const listed = await clients.catalogue.listCatalogueChanges(wanted)
      const nameOf = await namesOf(listed.changes.map((one) => one.caller))
      return sendSections(reply, {
        title: 'Audit: catalogue and bills',
        sections: [
          {
            note: 'Who stored a biller or a product, and who decided about a bill payment.',
            filters: {
              fields: commonFields(query, 'Caller'),
              links: linksOf(may, 'catalogue', withFilters('/audit/catalogue.csv', request.url)),
            },
            table: {
              head: ['When', 'Who', 'What', 'On', 'Note', 'Request'],
              empty: noneMatches('change'),
              rows: listed.changes.map((one) => [
                { at: one.occurTime },
                text(nameOf(one.caller)),
                text(one.action.replaceAll('_', ' ')),
                code(one.target),
                text(one.note),
                code(one.requestId),
              ]),
            },
            ...nextPageUrl(request.url, listed.nextPageToken),
            rpc: 'payweave.billing.v1.CatalogueService/ListCatalogueChanges',
            commands: ['audit catalogue'],
          },
        ],
      })
    }),
  )
  app.get(
    '/audit/catalogue.csv',
    worker.page(async (work) => {
      const { caller, targetId: target, ...times } = await changesFilterOf(work.query, people)
      const filter = { caller, target, ...times, pageSize: changesPageSize }
      return sendCsv(work, 'catalogue-changes', catalogueHead, async (pageToken) => {
        const page = await clients.catalogue.listCatalogueChanges({ ...filter, pageToken })
        return { rows: page.changes.map(catalogueCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

function projectField(query: URLSearchParams): Field {
  return { label: 'Project id', name: 'project', value: idIn(query, 'project'), maxlength: 36 }
}

/** The filters of every audit: by person, by what was changed or read, by time. */
function commonFields(query: URLSearchParams, who: string): Field[] {
  const field = (label: string, name: string) => ({ label, name, value: query.get(name) ?? '' })
  return [
    { ...field(who, 'person'), maxlength: 600 },
    { ...field('On (id)', 'target'), maxlength: 255 },
    { ...field('From (UTC)', 'from'), type: 'datetime-local' },
    { ...field('Until (UTC)', 'to'), type: 'datetime-local' },
  ]
}

/** The link to the file, and to the other audits. */
function linksOf(may: May, here: string, file: string) {
  const mayCatalogue = may('payweave.billing.v1.CatalogueService/ListCatalogueChanges')
  const audits = [
    { name: 'access', label: 'Changes of access', href: '/audit' },
    ...(mayCatalogue
      ? [{ name: 'catalogue', label: 'Catalogue and bills', href: '/audit/catalogue' }]
      : []),
    { name: 'actions', label: 'What was asked again', href: '/audit/actions' },
    { name: 'calls', label: 'Calls of people', href: '/audit/calls' },
  ]
  const others = audits.filter(({ name }) => name !== here)
  return [{ label: 'CSV', href: file }, ...others.map(({ label, href }) => ({ label, href }))]
}

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid time or id. */
async function changesFilterOf(query: URLSearchParams, people: People) {
  return {
    projectId: idIn(query, 'project'),
    caller: await people.recordNameOf(query.get('person') ?? ''),
    targetId: query.get('target') ?? '',
    ...timesOf(query),
  }
}

function timesOf(query: URLSearchParams) {
  const startTime = readTime('from', query.get('from'))
  const endTime = readTime('to', query.get('to'))
  return { ...(startTime && { startTime }), ...(endTime && { endTime }) }
}

/** The console itself has these rows, so it asks by itself what a service would ask. */
function requireAuditor({ may }: Work): void {
  if (may('payweave.accounts.v1.AccessService/ListAudit')) return
  throw new Failure('PERMISSION_DENIED', 'Your roles do not allow this.')
}

async function sendCalls(work: Work, db: Database, people: People) {
  requireAuditor(work)
  const { request, reply, query, may } = work
  const filter = await filterOf(query, people)
  const rows = await listActivity(db, {
    ...filter,
    before: idIn(query, 'page'),
    limit: pageSize,
  })
  const nameOf = await work.namesOf(rows.map(({ person }) => person))
  return sendSections(reply, {
    title: 'Audit: calls of people',
    sections: [
      {
        note: 'Every call that a person makes in the console is written down before it is made, reads included, and kept for 400 days. The console itself has these lines: no RPC lists them.',
        filters: {
          fields: [projectField(query), ...commonFields(query, 'Person')],
          links: linksOf(may, 'calls', withFilters('/audit/calls.csv', request.url)),
        },
        table: {
          head: ['When', 'Who', 'Call', 'Project', 'On', 'Request'],
          empty: noneMatches('call'),
          rows: rows.map((one) => [
            { at: timestampFromDate(one.occurTime) },
            { text: nameOf(one.person), href: callsOf(one.person) },
            code(one.rpc),
            code(one.projectId ?? ''),
            code(one.target),
            code(one.requestId),
          ]),
        },
        ...nextPageUrl(request.url, tokenAfter(rows, pageSize)),
      },
    ],
  })
}

/** The calls of one person, whose address others may have had. */
function callsOf(person: string): string {
  return `/audit/calls?${new URLSearchParams({ person: recordName(person) }).toString()}`
}

async function filterOf(
  query: URLSearchParams,
  people: People,
): Promise<Omit<ActivityFilter, 'before' | 'limit'>> {
  const { startTime, endTime } = timesOf(query)
  return {
    person: personIn(await people.recordNameOf(query.get('person') ?? '')),
    projectId: idIn(query, 'project'),
    target: query.get('target') ?? '',
    startTime: startTime && timestampDate(startTime),
    endTime: endTime && timestampDate(endTime),
  }
}

function tokenAfter(rows: SeenActivity[], limit: number): string {
  return rows.length === limit ? (rows.at(-1)?.activityId ?? '') : ''
}

const csvHead = ['time', 'person', 'session_id', 'rpc', 'project_id', 'target', 'request_id']

function csvCells(one: SeenActivity): string[] {
  const { occurTime, person, sessionId, rpc, projectId, target, requestId } = one
  return [formatIso(occurTime), person, sessionId, rpc, projectId ?? '', target, requestId]
}

const changesHead = ['time', 'caller', 'action', 'project_id', 'target_id', 'details', 'request_id']

function changeCells(entry: AuditEntry): string[] {
  const { occurTime, caller, action, projectId, targetId, requestId } = entry
  const time = timeOf(occurTime)?.iso ?? ''
  return [time, caller, action, projectId, targetId, detailsOf(entry), requestId]
}

const catalogueHead = ['time', 'caller', 'action', 'target', 'note', 'request_id']

function catalogueCells(one: CatalogueChange): string[] {
  const { occurTime, caller, action, target, note, requestId } = one
  return [timeOf(occurTime)?.iso ?? '', caller, action, target, note, requestId]
}

function detailsOf({ details }: AuditEntry): string {
  const parts = Object.entries(details).map(([name, value]) => `${name}=${value}`)
  return parts.join(', ')
}

function changeRow(entry: AuditEntry, nameOf: NameOf): Cell[] {
  return [
    { at: entry.occurTime },
    text(nameOf(entry.caller)),
    text(entry.action.replaceAll('_', ' ')),
    code(entry.projectId),
    code(entry.targetId),
    text(detailsOf(entry)),
    code(entry.requestId),
  ]
}
