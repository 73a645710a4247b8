// The projects of a person: those of their roles; all, for the staff.
import { Environment, type Project } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../clients.ts'
import { wordOf } from '../pages/words.ts'
import type { Session } from '../sign-in/sessions.ts'
import { mayOf, type ShownProject } from './shell.ts'

/** Who asks, and how calls are made in their name. */
type Caller = {
  session: Session
  within<T>(projectId: string | undefined, calls: () => Promise<T>): Promise<T>
}

/** A page of a person's projects with the token of the next one, which only the staff's list has. */
export async function projectsOf(
  { session, within }: Caller,
  { access }: Clients,
  page: { pageToken?: string; pageSize?: number } = {},
): Promise<{ projects: Project[]; nextPageToken: string }> {
  if (mayOf(session, undefined)('payweave.accounts.v1.AccessService/ListProjects')) {
    return await within(undefined, () => access.listProjects(page))
  }
  const ids = new Set(session.memberships.flatMap(({ projectId }) => projectId ?? []))
  const found = await Promise.all(
    [...ids].map((projectId) => within(projectId, () => access.getProject({ projectId }))),
  )
  return { projects: found.flatMap(({ project }) => project ?? []), nextPageToken: '' }
}

/** Names of projects by their ids; of an installation with more than 200, those of the others are their ids. */
export async function projectNames(
  work: Caller,
  clients: Clients,
): Promise<(projectId: string) => string> {
  const { projects } = await projectsOf(work, clients, { pageSize: 200 })
  const names = new Map(projects.map(({ projectId, name }) => [projectId, name]))
  return (projectId) => names.get(projectId) ?? projectId
}

/** A project as pages show it. */
export function shownProject({ projectId, name, environment }: Project): ShownProject {
  return { projectId, name, environment: wordOf(Environment, environment) }
}
