// Pauses and resumes the lanes of receivers, says so where their pushes are shown, and lists who did it.
import type { FastifyInstance } from 'fastify'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { Endpoint, EndpointChange } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  chosen,
  code,
  type Field,
  type Form,
  type Notices,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { choices, timeOf, valueOf, wordOf } from '../../pages/words.ts'
import { formId, nextPageUrl, noneMatches, oneOf, sendCsv } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

const pauseRpc = 'payweave.delivery.v1.EndpointService/PauseEndpoint'
const resumeRpc = 'payweave.delivery.v1.EndpointService/ResumeEndpoint'
const pageSize = 10
const csvPageSize = 200

/** Registers the forms below the receivers of a project and of all, and the file of who has sent them. */
export function registerPauses(app: FastifyInstance, { worker, clients }: Options): void {
  const { endpoints } = clients
  for (const [path, notice, change] of [
    ['pauses', 'paused', endpoints.pauseEndpoint],
    ['resumes', 'resumed', endpoints.resumeEndpoint],
  ] as const) {
    const send = async ({ reply, form, within }: Work, projectId: string, page: string) => {
      const endpointId = formId(form, 'lane_id')
      const note = form.get('note')?.trim() ?? ''
      await within<unknown>(projectId, () => change({ projectId, endpointId, note }))
      return reply.redirect(`${page}?notice=${notice}`, 303)
    }
    app.post(
      `/projects/:projectId/receivers/${path}`,
      worker.projectPage((work) => {
        const { projectId } = work.project
        return send(work, projectId, `/projects/${projectId}/receivers`)
      }),
    )
    app.post(
      `/receivers/${path}`,
      worker.page((work) => send(work, formId(work.form, 'project_id'), '/receivers')),
    )
  }
  app.get(
    '/projects/:projectId/receivers/pauses.csv',
    worker.projectPage((work) => {
      const { projectId } = work.project
      return sendCsv(work, 'pauses', csvHead, async (pageToken) => {
        const kind = pausedKind(work)
        const wanted = { projectId, kind, pageSize: csvPageSize, pageToken }
        const page = await endpoints.listEndpointChanges(wanted)
        const rows = page.changes.filter(isOfKind(kind)).map(csvCells)
        return { rows, nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

/** The filter of who has paused lanes, by the kind of their pushes; the page of receivers has it beside its own. */
export function pausesField({ query }: Work): Field {
  return chosen('Pauses of', 'pauses_of', DeliveryKind, query)
}

const kinds = choices(DeliveryKind).map(({ value }) => value)

/** Reads the kind of pushes from the query. Throws INVALID_PARAMETER for an unknown kind. */
function pausedKind({ query }: Work): DeliveryKind {
  const kind = valueOf(DeliveryKind, oneOf(query, 'pauses_of', kinds) ?? null)
  return kind ?? DeliveryKind.UNSPECIFIED
}

/**
 * Whether a change is of a lane of this kind, or of any.
 * A replica of the previous release, without the filter, answers with others.
 */
function isOfKind(kind: DeliveryKind): (change: EndpointChange) => boolean {
  return (change) => kind === DeliveryKind.UNSPECIFIED || change.kind === kind
}

/** What a page says after a lane was changed, by `notice` of its address. */
export const pauseNotices: Notices = {
  paused: 'The receiver is paused. What is being sent ends within seconds; all else waits.',
  resumed: 'The receiver is resumed: what has waited is sent now.',
}

/** Whether a lane is paused, and the form that changes it, below this page. */
export function pauseCell({ may }: Work, one: Endpoint, page: string): Cell {
  const isPaused = one.pauseTime !== undefined
  if (!may(isPaused ? resumeRpc : pauseRpc)) return text(isPaused ? 'paused' : '')
  const hidden = { project_id: one.projectId, lane_id: one.endpointId }
  const form: Form = isPaused
    ? { action: `${page}/resumes`, button: 'Resume', rpc: resumeRpc, hidden }
    : {
        action: `${page}/pauses`,
        button: 'Pause',
        rpc: pauseRpc,
        hidden,
        fields: [{ label: 'Why', name: 'note', maxlength: 200 }],
      }
  return { forms: [form] }
}

/** Says that lanes are paused, for as long as they are; `here` leads to them. */
export function pausedWarning(paused: Endpoint[]): string | undefined {
  const [first] = paused
  if (first === undefined) return undefined
  const more = paused.length > 1 ? ` and ${paused.length - 1} more` : ''
  return `Paused: ${wordOf(DeliveryKind, first.kind)} pushes to ${first.origin}${more}. They wait until somebody resumes them under Receivers.`
}

/** Lanes of a project that are paused, as many as a page of them has. */
export async function pausedLanes(
  { project: { projectId } }: ProjectWork,
  { endpoints }: Pick<Clients, 'endpoints'>,
): Promise<Endpoint[]> {
  return (await endpoints.listEndpoints({ projectId, onlyPaused: true })).endpoints
}

/** Who has paused and resumed lanes of a project. */
export async function pausesSection(
  work: ProjectWork,
  { endpoints }: Pick<Clients, 'endpoints'>,
): Promise<Section> {
  const { request, query, project, namesOf } = work
  const { projectId } = project
  const pageToken = query.get('pauses') ?? ''
  const kind = pausedKind(work)
  const listed = await endpoints.listEndpointChanges({ projectId, kind, pageSize, pageToken })
  const nameOf = await namesOf(listed.changes.map(({ caller }) => caller))
  return {
    heading: 'Pauses',
    table: {
      head: ['When', 'Who', 'What', 'Receiver', 'Kind', 'Why', 'Request'],
      empty:
        kind === DeliveryKind.UNSPECIFIED ? 'Nobody has paused a receiver.' : noneMatches('pause'),
      rows: listed.changes
        .filter(isOfKind(kind))
        .map((one) => [
          { at: one.changeTime },
          text(nameOf(one.caller)),
          text(one.isPaused ? 'paused' : 'resumed'),
          text(one.origin),
          text(wordOf(DeliveryKind, one.kind)),
          text(one.note),
          code(one.requestId),
        ]),
    },
    ...nextPageUrl(request.url, listed.nextPageToken, 'pauses'),
    rpc: [pauseRpc, resumeRpc, 'payweave.delivery.v1.EndpointService/ListEndpointChanges'],
    commands: ['deliveries pause', 'deliveries resume', 'deliveries pauses'],
  }
}

const csvHead = ['changed', 'changed_by', 'what', 'receiver', 'kind', 'note', 'request_id']

function csvCells(one: EndpointChange): string[] {
  return [
    timeOf(one.changeTime)?.iso ?? '',
    one.caller,
    one.isPaused ? 'paused' : 'resumed',
    one.origin,
    wordOf(DeliveryKind, one.kind),
    one.note,
    one.requestId,
  ]
}
