// Runs what a person asked for: only with their session, their form and their project, and in their name.
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { isUuid, randomId } from '#core/identity/id.ts'
import { currentContext, runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import type { Clients } from '../clients.ts'
import { sendPage } from '../pages/render.ts'
import type { People } from '../sign-in/people.ts'
import { isOwnForm, type Session, type Sessions } from '../sign-in/sessions.ts'
import { isFromOwnPage } from './guard.ts'
import { withMadeCalls } from './made-calls.ts'
import { headerProjects, pageProject } from './projects.ts'
import type { RequestLimits } from './request-limits.ts'
import { type May, mayOf, type ShownProject } from './shell.ts'
import { type ReaderLimits, streamTo } from './stream.ts'

/** Dependencies of a page's handler. */
export type Work = {
  request: FastifyRequest
  reply: FastifyReply
  session: Session
  may: May
  /** The query, each parameter once; empty ones are absent. */
  query: URLSearchParams
  /** The fields of the form. */
  form: URLSearchParams
  /** Answers with a body that is made while it is read, in the name of this person. */
  stream(type: string, parts: AsyncIterable<string | Uint8Array>): FastifyReply
  /** Reads how pages show the people among names of records. */
  namesOf: People['namesOf']
  /** Runs calls for another project of this person, or for none; where they have no role, services refuse them. */
  within<T>(projectId: string | undefined, calls: () => Promise<T>): Promise<T>
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

/** How long a handler may take, and whether its request is a sign of a person: an open page by itself is none. */
type How = { lasts?: boolean; quietly?: boolean }

/** A file takes as long as it is. */
export const asFile: How = { lasts: true }

/** A stream that an open page reads does not prolong the session. */
export const asStream: How = { lasts: true, quietly: true }

/** Wraps handlers of pages. */
export type Worker = {
  /** A page of no project. */
  page(handle: Handle<Work>, how?: How): RouteHandlerMethod
  /** A page below `/projects/:projectId`. */
  projectPage(handle: Handle<ProjectWork>, how?: How): RouteHandlerMethod
}

/** What wraps handlers. */
export type WorkerOptions = {
  sessions: Sessions
  people: People
  clients: Clients
  origin: string
  requestLimits: RequestLimits
  readerLimits: ReaderLimits
}

const deadlineMs = 10_000

/** Makes the wrappers. */
export function createWorker(options: WorkerOptions): Worker {
  const { sessions, people, clients, origin, requestLimits, readerLimits } = options

  function wrap(ofProject: boolean, handle: Handle<ProjectWork>, how: How = {}) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const session = await sessions.find(request, how.quietly)
      if (session === undefined) return signIn(request, reply)
      request.shell.session = session
      const isPage = request.method === 'GET' && how.lasts !== true
      if (isPage && session.isRotationDue) await sessions.rotate(request, reply)
      requestLimits.takeRequest(session.person, reply)
      if (how.lasts === true && how.quietly === true)
        requestLimits.takeStream(session.person, reply)
      if (request.method === 'POST') requireOwnForm(request, session)
      const projectId = ofProject ? projectOf(request, session) : undefined
      const context = {
        requestId: randomId(),
        traceparent: newTraceparent(),
        deadline: how.lasts === true ? undefined : Date.now() + deadlineMs,
        acting: actingOf(session, projectId),
      }
      return await runWithContext(context, async () => {
        const within: Work['within'] = (other, calls) =>
          runWithContext(
            {
              ...context,
              // A part of the page may have one of its own.
              deadline: currentContext()?.deadline ?? context.deadline,
              acting: actingOf(session, other),
            },
            calls,
          )
        const [project, projects] = await Promise.all([
          projectId === undefined ? none : pageProject(clients, projectId),
          isPage ? headerProjects({ session, within }, clients) : [],
        ])
        Object.assign(request.shell, { projects, ...(projectId !== undefined && { project }) })
        const work: ProjectWork = {
          request,
          reply,
          session,
          project,
          may: mayOf(session, projectId),
          query: queryOf(request),
          form: formOf(request),
          stream: (type, parts) => streamTo(reply.type(type), parts, context, readerLimits),
          namesOf: people.namesOf,
          within,
        }
        return await withMadeCalls(clients.served, () => handle(work))
      })
    }
  }

  function requireOwnForm(request: FastifyRequest, session: Session): void {
    if (isFromOwnPage(request, origin) && isOwnForm(session, request.body)) return
    throw new Failure('PERMISSION_DENIED', 'This form is from another page. Open it here again.')
  }

  return {
    page: (handle, how) => wrap(false, handle, how),
    projectPage: (handle, how) => wrap(true, handle, how),
  }
}

function actingOf({ memberships, person: id, sessionId }: Session, projectId: string | undefined) {
  // Roles in other projects are of no use to these calls.
  const held = memberships.filter((one) => (one.projectId ?? projectId) === projectId)
  return { person: { id, memberships: held }, projectId, sessionId }
}

/** Stands for the project of pages that have none; they do not read it. */
const none: ShownProject = { projectId: '', name: '', environment: '' }

/**
 * Leads to the sign-in. A form cannot be sent again after it, so that leads to the first page. Our forms may lead to no
 * other origin (`form-action`), where the provider is: after one of our own pages a person follows a link.
 */
function signIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { method, headers, url } = request
  if (method === 'GET' && headers['sec-fetch-dest'] === 'empty') {
    return reply.code(401).send('signed out')
  }
  const back = new URLSearchParams({ return: method === 'GET' ? url : '/' })
  const signInUrl = `/sign-in?${back.toString()}`
  if (method === 'GET' && headers['sec-fetch-site'] !== 'same-origin') {
    return reply.redirect(signInUrl, 303)
  }
  const text = 'Nothing was changed. Sign in to go on.'
  return sendPage(reply, 'message', { title: 'Your session has ended', text, signInUrl }, 401)
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
