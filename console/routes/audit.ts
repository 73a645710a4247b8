// Who did what, and when: changes of access, and every call that people made in the console.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { Failure, invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import { formatIso } from '#core/text/time.ts'
import type { AuditEntry } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { Clients } from '../clients.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import { type Cell, code, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { timeOf } from '../pages/words.ts'
import { type ActivityFilter, listActivity, type SeenActivity } from '../store/activity-store.ts'
import { nextPageUrl, sendCsv, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients; db: Database }

const pageSize = 50
const csvPageSize = 500
/** What accounts answers at most. */
const changesPageSize = 200

/** Registers `/audit` and `/audit/calls`, and their files. */
export function registerAudit(app: FastifyInstance, { worker, clients, db }: Options): void {
  app.get(
    '/audit',
    worker.page(async ({ request, reply, query }) => {
      const projectId = idOf(query, 'project')
      const pageToken = query.get('page') ?? ''
      const listed = await clients.access.listAudit({ projectId, pageToken })
      return sendSections(reply, {
        title: 'Audit: changes of access',
        sections: [
          {
            filters: {
              fields: [{ label: 'Project id', name: 'project', value: projectId, maxlength: 36 }],
              links: [
                { label: 'CSV', href: withFilters('/audit.csv', request.url) },
                { label: 'Calls of people', href: '/audit/calls' },
              ],
            },
            table: {
              head: ['When', 'Who', 'What', 'Project', 'On', 'Details', 'Request'],
              empty: 'No change matches.',
              rows: listed.entries.map(changeRow),
            },
            ...nextPageUrl(request.url, listed.nextPageToken),
            rpc: 'payweave.accounts.v1.AccessService/ListAudit',
          },
        ],
      })
    }),
  )
  app.get(
    '/audit.csv',
    worker.page((work) => {
      const filter = { projectId: idOf(work.query, 'project'), pageSize: changesPageSize }
      return sendCsv(work, 'changes', changesHead, async (pageToken) => {
        const page = await clients.access.listAudit({ ...filter, pageToken })
        return { rows: page.entries.map(changeCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    '/audit/calls',
    worker.page((work) => sendCalls(work, db)),
  )
  app.get(
    '/audit/calls.csv',
    worker.page((work) => {
      requireAuditor(work)
      const filter = filterOf(work.query)
      return sendCsv(work, 'calls', csvHead, async (pageToken) => {
        const rows = await listActivity(db, { ...filter, before: pageToken, limit: csvPageSize })
        return { rows: rows.map(csvCells), nextPageToken: tokenAfter(rows, csvPageSize) }
      })
    }, asFile),
  )
}

/** The console itself has these rows, so it asks by itself what a service would ask. */
function requireAuditor({ may }: Work): void {
  if (may('payweave.accounts.v1.AccessService/ListAudit')) return
  throw new Failure('PERMISSION_DENIED', 'Your roles do not allow this.')
}

async function sendCalls(work: Work, db: Database) {
  requireAuditor(work)
  const { request, reply, query } = work
  const filter = filterOf(query)
  const rows = await listActivity(db, {
    ...filter,
    before: idOf(query, 'page'),
    limit: pageSize,
  })
  return sendSections(reply, {
    title: 'Audit: calls of people',
    sections: [
      {
        note: 'Every call that a person makes in the console is written down before it is made, reads included.',
        filters: {
          fields: [
            { label: 'Person', name: 'person', value: filter.person, maxlength: 254 },
            { label: 'Project id', name: 'project', value: filter.projectId, maxlength: 36 },
          ],
          links: [
            { label: 'CSV', href: withFilters('/audit/calls.csv', request.url) },
            { label: 'Changes of access', href: '/audit' },
          ],
        },
        table: {
          head: ['When', 'Who', 'Call', 'Project', 'On', 'Request'],
          empty: 'No call matches.',
          rows: rows.map((one) => [
            { at: timestampFromDate(one.occurTime) },
            text(one.person),
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

function filterOf(query: URLSearchParams): Pick<ActivityFilter, 'person' | 'projectId'> {
  return { person: query.get('person') ?? '', projectId: idOf(query, 'project') }
}

/** An id of the query; the empty text for none. Throws INVALID_PARAMETER for another text. */
function idOf(query: URLSearchParams, name: string): string {
  const id = query.get(name) ?? ''
  if (id !== '' && !isUuid(id)) throw invalid(name, 'must be an id')
  return id
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

function detailsOf({ details }: AuditEntry): string {
  const parts = Object.entries(details).map(([name, value]) => `${name}=${value}`)
  return parts.join(', ')
}

function changeRow(entry: AuditEntry): Cell[] {
  return [
    { at: entry.occurTime },
    text(entry.caller),
    text(entry.action.replaceAll('_', ' ')),
    code(entry.projectId),
    code(entry.targetId),
    text(detailsOf(entry)),
    code(entry.requestId),
  ]
}
