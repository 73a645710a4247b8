// The first page: the projects of a person, and the same as a CSV file. Who has one goes to it at once.
import type { FastifyInstance } from 'fastify'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../clients.ts'
import { projectsOf, projectsRpc } from '../http/projects.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import { chosen, code, row, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { valueOf, wordOf } from '../pages/words.ts'
import { nextPageUrl, noneMatches, sendCsv, withFilters } from './list.ts'

const csvPageSize = 200

/** Registers `/` and its file. */
export function registerHome(
  app: FastifyInstance,
  { worker, clients }: { worker: Worker; clients: Clients },
): void {
  app.get(
    '/',
    worker.page(async (work) => {
      const own = work.session.memberships.map(({ projectId }) => projectId)
      const [only] = own
      if (own.length === 1 && only !== undefined) {
        return work.reply.redirect(`/projects/${only}`, 303)
      }
      const pageToken = work.query.get('page') ?? ''
      const wanted = { ...filterOf(work), pageToken }
      const { projects, nextPageToken } = await projectsOf(work, clients, wanted)
      const list: Section = {
        filters: {
          fields: [
            { label: 'Whole name', name: 'name', value: wanted.name, maxlength: 100 },
            chosen('Environment', 'environment', Environment, work.query),
          ],
          links: [{ label: 'CSV', href: withFilters('/projects.csv', work.request.url) }],
        },
        table: {
          head: ['Project', 'Environment', 'Id'],
          empty:
            wanted.name === '' && wanted.environment === Environment.UNSPECIFIED
              ? 'There is no project yet. Create one with: payweave project create <name>'
              : noneMatches('project'),
          rows: projects.map(({ projectId, name, environment }) => [
            row(name, `/projects/${projectId}`),
            text(wordOf(Environment, environment)),
            code(projectId),
          ]),
        },
        ...nextPageUrl(work.request.url, nextPageToken),
        rpc: projectsRpc(work),
      }
      return sendSections(work.reply, { title: 'Projects', sections: [list] })
    }),
  )
  app.get(
    '/projects.csv',
    worker.page((work) => {
      const head = ['project_id', 'name', 'environment']
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'projects', head, async (pageToken) => {
        const page = await projectsOf(work, clients, { ...filter, pageToken })
        const rows = page.projects.map(({ projectId, name, environment }) => [
          projectId,
          name,
          wordOf(Environment, environment),
        ])
        return { rows, nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

function filterOf({ query }: Work) {
  const environment: Environment =
    valueOf(Environment, query.get('environment')) ?? Environment.UNSPECIFIED
  return { name: query.get('name') ?? '', environment }
}
