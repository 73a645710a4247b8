// The API log over all projects, for the staff: who calls, what is refused and what fails, and the same as a CSV file.
import type { FastifyInstance } from 'fastify'
import type { Clients } from '../../clients.ts'
import { projectNames } from '../../http/projects.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import { sendSections } from '../../pages/render.ts'
import {
  noRequests,
  requestCells,
  requestColumns,
  requestFilter,
  requestFilters,
  requestHead,
  requestRow,
  requestsInFile,
} from '../developers/api-log.ts'
import { nextPageUrl, sendCsv } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

/** Registers `/api-log` and its file. */
export function registerAllRequests(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/api-log',
    worker.page((work) => sendList(work, clients)),
  )
  app.get(
    '/api-log.csv',
    worker.page((work) => {
      const filter = { ...requestFilter(work), pageSize: requestsInFile }
      return sendCsv(work, 'api-log', ['project_id', ...requestHead], async (pageToken) => {
        const page = await clients.apiLog.listAllRequests({ ...filter, pageToken })
        const rows = page.requests.map((one) => [one.projectId, ...requestCells(one)])
        return { rows, nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

async function sendList(work: Work, clients: Clients) {
  const { request, reply, query } = work
  const pageToken = query.get('page') ?? ''
  const [listed, nameOf] = await Promise.all([
    clients.apiLog.listAllRequests({ ...requestFilter(work), pageToken }),
    projectNames(work, clients),
  ])
  return sendSections(reply, {
    title: 'API log of all projects',
    sections: [
      {
        note: 'Requests of the last 30 days. A request whose key was not known is in no log.',
        filters: requestFilters(work, '/api-log.csv'),
        table: {
          head: ['Project', ...requestColumns],
          empty: noRequests(listed.nextPageToken),
          rows: listed.requests.map((one) => [
            { text: nameOf(one.projectId), href: `/projects/${one.projectId}/api-log` },
            ...requestRow(one),
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.delivery.v1.ApiLogService/ListAllRequests',
        commands: ['api-log list', 'api-log show'],
      },
    ],
  })
}
