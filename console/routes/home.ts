// The first page: the projects of a person. Who has one goes to it at once.
import type { FastifyInstance } from 'fastify'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../clients.ts'
import { projectsOf } from '../http/projects.ts'
import type { Worker } from '../http/work.ts'
import { code, row, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { wordOf } from '../pages/words.ts'
import { nextPageUrl } from './list.ts'

/** Registers `/`. */
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
      const { projects, nextPageToken } = await projectsOf(work, clients, { pageToken })
      const list: Section = {
        table: {
          head: ['Project', 'Environment', 'Id'],
          empty: 'There is no project yet. Create one with: payweave project create <name>',
          rows: projects.map(({ projectId, name, environment }) => [
            row(name, `/projects/${projectId}`),
            text(wordOf(Environment, environment)),
            code(projectId),
          ]),
        },
        ...nextPageUrl(work.request.url, nextPageToken),
      }
      return sendSections(work.reply, { title: 'Projects', sections: [list] })
    }),
  )
}
