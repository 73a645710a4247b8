// Search: from an id to the page of the thing, in the project that is shown or in all of the person's.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Clients } from '../clients.ts'
import type { Work, Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { ownProjects } from './home.ts'

/** Registers `/search` and `/projects/<id>/search`. */
export function registerSearch(
  app: FastifyInstance,
  { worker, clients }: { worker: Worker; clients: Clients },
): void {
  app.get(
    '/projects/:projectId/search',
    worker.projectPage(async (work) => {
      const { query, project } = work
      const q = query.get('q') ?? ''
      const found = await find(clients, project.projectId, q)
      return answer(work, q, found)
    }),
  )
  app.get(
    '/search',
    worker.page(async (work) => {
      const q = work.query.get('q') ?? ''
      const { projects } = await ownProjects(work, clients)
      const ofProject = projects.find(({ projectId }) => projectId === q)
      if (ofProject !== undefined) return answer(work, q, `/projects/${q}`)
      const all = await Promise.all(
        projects.map(({ projectId }) => work.within(projectId, () => find(clients, projectId, q))),
      )
      return answer(
        work,
        q,
        all.find((path) => path !== undefined),
      )
    }),
  )
}

function answer({ reply }: Work, q: string, path: string | undefined): FastifyReply {
  if (path !== undefined) return reply.redirect(path, 303)
  const text =
    'Nothing of yours has this id. Check that it is whole, and that it is of this project.'
  return sendPage(reply, 'message', { title: 'Nothing found', text, q }, 404)
}

/** The path of what has this id in a project. */
async function find(
  { payments, deliveries, replays }: Clients,
  projectId: string,
  id: string,
): Promise<string | undefined> {
  if (!isUuid(id)) return undefined
  const base = `/projects/${projectId}`
  const looks: [path: string, look: () => Promise<unknown>][] = [
    [`${base}/payments/${id}`, () => payments.getPayment({ projectId, paymentId: id })],
    [`${base}/pushes/${id}`, () => deliveries.getDelivery({ projectId, deliveryId: id })],
    [`${base}/pushes/replays/${id}`, () => replays.getReplayJob({ projectId, jobId: id })],
  ]
  const found = await Promise.all(looks.map(([, look]) => exists(look)))
  return looks.find((_, index) => found[index])?.[0]
}

async function exists(look: () => Promise<unknown>): Promise<boolean> {
  try {
    await look()
    return true
  } catch (error) {
    if (error instanceof Failure && error.reason.endsWith('_NOT_FOUND')) return false
    throw error
  }
}
