// The projects of a person: those of their roles; all, for the staff.
import { Environment, type Project } from '#gen/payweave/accounts/v1/access_pb.js'
import { isOfStaff } from '#platform/rpc/auth/roles.ts'
import type { Clients } from '../clients.ts'
import { wordOf } from '../pages/words.ts'
import { orUndefined } from '../routes/found.ts'
import type { Session } from '../sign-in/sessions.ts'
import { answered } from './answered.ts'
import { mayOf, type ShownProject } from './shell.ts'

/** Who asks, and how calls are made in their name. */
export type Reader = {
  session: Session
  within<T>(projectId: string | undefined, calls: () => Promise<T>): Promise<T>
}

const listRpc = 'payweave.accounts.v1.AccessService/ListProjects'

/**
 * A page of a person's projects, of this name and environment if any, with the token of the next one, which only the staff's list has. A project of their roles that
 * does not exist is left out.
 */
export async function projectsOf(
  { session, within }: Reader,
  { access }: Clients,
  page: { pageToken?: string; pageSize?: number; name?: string; environment?: Environment } = {},
): Promise<{ projects: Project[]; nextPageToken: string }> {
  if (mayOf(session, undefined)(listRpc)) {
    return await within(undefined, () => access.listProjects(page))
  }
  const ids = new Set(session.memberships.flatMap(({ projectId }) => projectId ?? []))
  const found = await Promise.all(
    [...ids].map((projectId) =>
      orUndefined(() => within(projectId, () => access.getProject({ projectId }))),
    ),
  )
  const { name = '', environment = Environment.UNSPECIFIED } = page
  const projects = found.flatMap((one) => one?.project ?? [])
  const isWanted = (one: Project) =>
    (name === '' || one.name === name) &&
    (environment === Environment.UNSPECIFIED || one.environment === environment)
  return { projects: projects.filter(isWanted), nextPageToken: '' }
}

/** The RPC that `projectsOf` reads. */
export function projectsRpc({ session }: Pick<Reader, 'session'>): string {
  return mayOf(session, undefined)(listRpc)
    ? listRpc
    : 'payweave.accounts.v1.AccessService/GetProject'
}

/** Names of projects by their ids; of an installation with more than 200, those of the others are their ids. */
export async function projectNames(
  work: Reader,
  clients: Clients,
): Promise<(projectId: string) => string> {
  const { projects } = await projectsOf(work, clients, { pageSize: 200 })
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  return (projectId) => names.get(projectId) ?? projectId
}

/** A project as pages show it. */
function shownProject({ projectId, name, environment }: Project): ShownProject {
  return { projectId, name, environment: wordOf(Environment, environment) }
}

/** Projects that the header leads to; a page lists all. */
const maxHeaderProjects = 10
/** How long a page waits for its header: it is as useful without one. */
const headerTimeoutMs = 1_500

/**
 * The project of a page; by its id alone while accounts does not answer, as services check each call by themselves. Rejects
 * with PROJECT_NOT_FOUND.
 */
export async function pageProject({ access }: Clients, projectId: string): Promise<ShownProject> {
  const look = () => access.getProject({ projectId })
  const found = await answered([], 'the project', look, headerTimeoutMs)
  if (found === undefined) return { projectId, name: `project ${projectId}`, environment: '' }
  if (found.project === undefined) throw new Error('an answer without its project')
  return shownProject(found.project)
}

/** What a person may go to from here: nothing where they have one project alone, or while accounts does not answer. */
export async function headerProjects(reader: Reader, clients: Clients): Promise<ShownProject[]> {
  const { memberships } = reader.session
  if (memberships.length === 1 && !isOfStaff(memberships)) return []
  const look = () => projectsOf(reader, clients, { pageSize: maxHeaderProjects })
  const found = await answered([], 'the projects', look, headerTimeoutMs)
  return (found?.projects ?? []).slice(0, maxHeaderProjects).map(shownProject)
}
