// Runs what a person asked for: only with their session, their form and their project, and in their name.
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { isUuid, randomId } from '#core/identity/id.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import type { Clients } from '../clients.ts'
import { isOwnForm, type Session, type Sessions } from '../sign-in/sessions.ts'
import { isFromOwnPage } from './guard.ts'
import { type May, mayOf, type ShownProject } from './shell.ts'

/** What a page's handler works with. */
export type Work = {
  request: FastifyRequest
  reply: FastifyReply
  session: Session
  may: May
  /** The query, each parameter once; empty ones are absent. */
  query: URLSearchParams
  /** The fields of the form. */
  form: URLSearchParams
  /** Runs calls for another project of this person; where they have no role, services refuse them. */
  within<T>(projectId: string, calls: () => Promise<T>): Promise<T>
}

/** The same in a project. */
export type ProjectWork = Work & { project: ShownProject }

type Handle<W> = (work: W) => FastifyReply | Promise<FastifyReply>

/** An id in the path of a page. Throws ENDPOINT_NOT_FOUND where there is none: no service need look for that. */
export function pathId<N extends string>({ request }: Work, name: N): Record<N, string> {
  const id = (request.params as Record<string, string | undefined>)[name] ?? ''
  if (!isUuid(id)) throw new Failure('ENDPOINT_NOT_FOUND', 'There is no such page.')
  return { [name]: id } as Record<N, string>
}

/** Wraps handlers of pages. */
export type Worker = {
  /** A page of no project. */
  page(handle: Handle<Work>): RouteHandlerMethod
  /** A page below `/projects/:projectId`. */
  projectPage(handle: Handle<ProjectWork>): RouteHandlerMethod
  /** The same for a file, which takes as long as it is. */
  projectFile(handle: Handle<ProjectWork>): RouteHandlerMethod
  /** The same for a stream that an open page reads: it does not prolong the session. */
  projectStream(handle: Handle<ProjectWork>): RouteHandlerMethod
}

/** What wraps handlers. */
export type WorkerOptions = { sessions: Sessions; clients: Clients; origin: string }

const deadlineMs = 10_000

/** Makes the wrappers. */
export function createWorker({ sessions, clients, origin }: WorkerOptions): Worker {
  type Kind = { ofProject: boolean; lasts?: boolean; quietly?: boolean }

  function wrap(kind: Kind, handle: Handle<ProjectWork>) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const session = await sessions.find(request, kind.quietly)
      if (session === undefined) return signIn(request, reply)
      request.shell.session = session
      if (request.method === 'POST') requireOwnForm(request, session)
      const projectId = kind.ofProject ? projectOf(request, session) : undefined
      const context = {
        requestId: randomId(),
        traceparent: newTraceparent(),
        deadline: kind.lasts === true ? undefined : Date.now() + deadlineMs,
        acting: actingOf(session, projectId),
      }
      return await runWithContext(context, async () => {
        const project = projectId === undefined ? none : await readProject(projectId)
        if (projectId !== undefined) request.shell.project = project
        return await handle({
          request,
          reply,
          session,
          project,
          may: mayOf(session, projectId),
          query: queryOf(request),
          form: formOf(request),
          within: (other, calls) =>
            runWithContext({ ...context, acting: actingOf(session, other) }, calls),
        })
      })
    }
  }

  async function readProject(projectId: string): Promise<ShownProject> {
    const { project } = await clients.access.getProject({ projectId })
    return { projectId, name: project?.name ?? '' }
  }

  function requireOwnForm(request: FastifyRequest, session: Session): void {
    if (isFromOwnPage(request, origin) && isOwnForm(session, request.body)) return
    throw new Failure('PERMISSION_DENIED', 'This form is from another page. Open it here again.')
  }

  return {
    page: (handle) => wrap({ ofProject: false }, handle),
    projectPage: (handle) => wrap({ ofProject: true }, handle),
    projectFile: (handle) => wrap({ ofProject: true, lasts: true }, handle),
    projectStream: (handle) => wrap({ ofProject: true, lasts: true, quietly: true }, handle),
  }
}

function actingOf({ memberships, person: id, sessionId }: Session, projectId: string | undefined) {
  // Roles in other projects are of no use to these calls.
  const held = memberships.filter((one) => (one.projectId ?? projectId) === projectId)
  return { person: { id, memberships: held }, projectId, sessionId }
}

/** Stands for the project of pages that have none; they do not read it. */
const none: ShownProject = { projectId: '', name: '' }

/** A form cannot be sent again after the sign-in, so that leads to the page of its own. */
function signIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isPage = request.method === 'GET' && request.headers['sec-fetch-dest'] !== 'empty'
  if (!isPage && request.method === 'GET') return reply.code(401).send('signed out')
  const back = request.method === 'GET' ? request.url : '/'
  return reply.redirect(`/sign-in?${new URLSearchParams({ return: back }).toString()}`, 303)
}

/** The project of the path. Throws PROJECT_NOT_FOUND for one where the person has no role, as for one that is unknown. */
function projectOf(request: FastifyRequest, { memberships }: Session): string {
  const { projectId = '' } = request.params as { projectId?: string }
  const isHeld = memberships.some((one) => (one.projectId ?? projectId) === projectId)
  if (!isUuid(projectId) || !isHeld)
    throw new Failure('PROJECT_NOT_FOUND', 'There is no such project.')
  return projectId
}

function queryOf(request: FastifyRequest): URLSearchParams {
  const given = new URL(request.url, 'http://localhost').searchParams
  const query = new URLSearchParams()
  for (const [name, value] of given) if (value !== '') query.set(name, value.trim())
  return query
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  const fields = Object.entries((body ?? {}) as Record<string, unknown>)
  return new URLSearchParams(
    fields.filter((field): field is [string, string] => typeof field[1] === 'string'),
  )
}
