// The replays of a project: a list, and the same as a CSV file.
import type { FastifyInstance } from 'fastify'
import { DeliveryKind, DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { type ReplayJob, ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { chosen, count, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { timeOf, valueOf, wordOf } from '../pages/words.ts'
import { nextPageUrl, noneMatches, sendCsv, withFilters } from './list.ts'

/** The client of replays. */
export type Replays = Clients['replays']

/** What a replay without a state takes. */
export const undelivered = 'exhausted or blocked'

/** Registers `<path>/replays` and its file. */
export function registerReplayList(
  app: FastifyInstance,
  path: string,
  worker: Worker,
  replays: Replays,
): void {
  app.get(
    `${path}/replays`,
    worker.projectPage((work) => sendList(work, replays)),
  )
  app.get(
    `${path}/replays.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'replays', csvHead, async (pageToken) => {
        const page = await replays.listReplayJobs({ ...filter, pageToken })
        return { rows: page.jobs.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

const csvPageSize = 200

/** The jobs that the query asks for. */
function filterOf({ project: { projectId }, query }: ProjectWork) {
  const state: ReplayJobState =
    valueOf(ReplayJobState, query.get('state')) ?? ReplayJobState.UNSPECIFIED
  return { projectId, state }
}

async function sendList(work: ProjectWork, replays: Replays) {
  const { request, reply, project, query } = work
  const { projectId, name } = project
  const base = `/projects/${projectId}/pushes`
  const wanted = { ...filterOf(work), pageToken: query.get('page') ?? '' }
  const listed = await replays.listReplayJobs(wanted)
  const list: Section = {
    note: 'Each sends pushes that have ended once more, with the same ids and bytes.',
    filters: {
      fields: [chosen('State', 'state', ReplayJobState, query)],
      links: [
        { label: 'Replay many', href: `${base}#replay` },
        { label: 'CSV', href: withFilters(`${base}/replays.csv`, request.url) },
      ],
    },
    table: {
      head: ['Began', 'State', 'Sent again', 'A second', 'Kind', 'Pushes', 'Receiver', 'Ended'],
      empty:
        wanted.state === ReplayJobState.UNSPECIFIED
          ? 'No push was replayed with others yet. The page of the pushes begins a replay.'
          : noneMatches('replay'),
      rows: listed.jobs.map((job) => [
        { at: job.createTime, href: `${base}/replays/${job.jobId}` },
        { state: wordOf(ReplayJobState, job.state) },
        count(job.replayedCount),
        count(job.ratePerS),
        text(kindOf(job)),
        text(stateOf(job)),
        text(ofOne(job)),
        { at: job.endTime },
      ]),
    },
    ...nextPageUrl(request.url, listed.nextPageToken),
    rpc: 'payweave.delivery.v1.ReplayService/ListReplayJobs',
    commands: ['replay list'],
  }
  return sendSections(reply, { title: `Replays of ${name}`, sections: [list] })
}

const csvHead = [
  'job_id',
  'began',
  'state',
  'replayed',
  'rate_per_s',
  'kind',
  'pushes',
  'receiver',
  'about',
  'ended',
]

function csvCells(job: ReplayJob): string[] {
  return [
    job.jobId,
    timeOf(job.createTime)?.iso ?? '',
    wordOf(ReplayJobState, job.state),
    String(job.replayedCount),
    String(job.ratePerS),
    kindOf(job),
    stateOf(job),
    job.filter?.origin ?? '',
    job.filter?.subjectId ?? '',
    timeOf(job.endTime)?.iso ?? '',
  ]
}

/** The receiver or the subject that a replay is of. */
function ofOne({ filter }: ReplayJob): string {
  return [filter?.origin, filter?.subjectId].filter(Boolean).join(', ') || 'any'
}

/** The kind of the pushes that a replay takes. */
export function kindOf({ filter }: ReplayJob): string {
  const { kind = DeliveryKind.UNSPECIFIED } = filter ?? {}
  return kind === DeliveryKind.UNSPECIFIED ? 'any' : wordOf(DeliveryKind, kind)
}

/** The state of the pushes that a replay takes. */
export function stateOf({ filter }: ReplayJob): string {
  const { state = DeliveryState.UNSPECIFIED } = filter ?? {}
  return state === DeliveryState.UNSPECIFIED ? undelivered : wordOf(DeliveryState, state)
}
