// The first page: the projects of a person. Who has one goes to it at once.
import type { FastifyInstance } from 'fastify'
import { Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../clients.ts'
import type { Work, Worker } from '../http/work.ts'
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
      const { projects, ...pages } = await ownProjects(work, clients)
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
        ...pages,
      }
      return sendSections(work.reply, { title: 'Projects', sections: [list] })
    }),
  )
}

/** The projects of a person: all, for the staff. */
export async function ownProjects(
  { may, session, query, request, within }: Work,
  { access }: Clients,
) {
  if (may('payweave.accounts.v1.AccessService/ListProjects')) {
    const pageToken = query.get('page') ?? ''
    const listed = await access.listProjects({ pageToken })
    return { projects: listed.projects, ...nextPageUrl(request.url, listed.nextPageToken) }
  }
  const ids = session.memberships.flatMap(({ projectId }) => projectId ?? [])
  const found = await Promise.all(
    ids.map((projectId) => within(projectId, () => access.getProject({ projectId }))),
  )
  return { projects: found.flatMap(({ project }) => project ?? []) }
}
