// Replays of many pushes: begin one, follow its bar, stop it.
import { setTimeout as delay } from 'node:timers/promises'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { DeliveryKind, DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  type GetReplayJobResponse,
  type ReplayJob,
  ReplayJobState,
} from '#gen/payweave/delivery/v1/replay_pb.js'
import type { Clients } from '../clients.ts'
import type { May } from '../http/shell.ts'
import { asStream, type ProjectWork, pathId, type Worker } from '../http/work.ts'
import { type Form, type Section, text } from '../pages/blocks.ts'
import { renderPart, sendPage } from '../pages/render.ts'
import { valueOf, wordOf } from '../pages/words.ts'
import { sendEvents, sse } from './events.ts'
import { formId, readTime } from './list.ts'
import { kindOf, type Replays, registerReplayList, stateOf } from './replay-list.ts'

/** Registers `<path>/replays`. */
export function registerReplays(
  app: FastifyInstance,
  path: string,
  { worker, clients: { replays, replayPolls } }: { worker: Worker; clients: Clients },
): void {
  app.post(
    `${path}/replays`,
    worker.projectPage(async ({ reply, project: { projectId }, form }) => {
      const fromTime = readTime('from', form.get('from'))
      const toTime = readTime('to', form.get('to'))
      const kind = valueOf(DeliveryKind, form.get('kind')) ?? DeliveryKind.UNSPECIFIED
      const state = valueOf(DeliveryState, form.get('state')) ?? DeliveryState.UNSPECIFIED
      const { job } = await replays.createReplayJob({
        projectId,
        idempotencyKey: formId(form, 'request_id'),
        filter: {
          kind,
          state,
          origin: form.get('origin')?.trim() ?? '',
          subjectId: form.get('subject')?.trim() ?? '',
          ...(fromTime && { fromTime }),
          ...(toTime && { toTime }),
        },
        ratePerS: rateOf(form.get('rate')),
      })
      return reply.redirect(`/projects/${projectId}/pushes/replays/${job?.jobId ?? ''}`, 303)
    }),
  )
  registerReplayList(app, path, worker, replays)
  app.get(
    `${path}/replays/:jobId`,
    worker.projectPage(async (work) => {
      const { reply, may } = work
      const job = found(await replays.getReplayJob(idsOf(work)))
      const base = `/projects/${job.projectId}/pushes`
      const self = `${base}/replays/${job.jobId}`
      return sendPage(reply, 'replay', {
        title: `Replay ${job.jobId}`,
        base,
        self,
        source: `${self}/events`,
        job: shown(job),
        about: aboutOf(job, actionsOf(job, self, may)),
      })
    }),
  )
  app.get(
    `${path}/replays/:jobId/events`,
    worker.projectPage(async (work) => {
      const ids = idsOf(work)
      const first = found(await replays.getReplayJob(ids))
      const again = async () => found(await replayPolls.getReplayJob(ids))
      return sendEvents(work, progressOf(first, again))
    }, asStream),
  )
  registerChanges(app, path, worker, replays)
}

/** Registers what a person does with a replay. */
function registerChanges(
  app: FastifyInstance,
  path: string,
  worker: Worker,
  replays: Replays,
): void {
  for (const [action, call] of [
    ['pause', replays.pauseReplayJob],
    ['resume', replays.resumeReplayJob],
    ['cancel', replays.cancelReplayJob],
  ] as const) {
    app.post(
      `${path}/replays/:jobId/${action}`,
      worker.projectPage(async (work) => {
        const { projectId, jobId } = idsOf(work)
        await call({ projectId, jobId })
        return work.reply.redirect(`/projects/${projectId}/pushes/replays/${jobId}`, 303)
      }),
    )
  }
}

/** What is asked for, and what may be done with the job as it is. */
function aboutOf(job: ReplayJob, forms: Form[]): Section {
  return {
    facts: [
      ['Kind', text(kindOf(job))],
      ['Pushes', text(stateOf(job))],
      ['Receiver', text(job.filter?.origin || 'any')],
      ['About', text(job.filter?.subjectId || 'any payment or account')],
      ['From', { at: job.filter?.fromTime }],
      ['Until', { at: job.filter?.toTime }],
      ['Began', { at: job.createTime }],
      ['Ended', { at: job.endTime }],
    ],
    forms,
    rpc: 'payweave.delivery.v1.ReplayService/GetReplayJob',
  }
}

type Method = 'PauseReplayJob' | 'ResumeReplayJob' | 'CancelReplayJob'

function actionsOf({ state }: ReplayJob, self: string, may: May): Form[] {
  const { RUNNING, PAUSED } = ReplayJobState
  const form = (states: ReplayJobState[], action: string, button: string, method: Method) => {
    const rpc = `payweave.delivery.v1.ReplayService/${method}` as const
    return states.includes(state) && may(rpc) ? [{ action: `${self}/${action}`, button, rpc }] : []
  }
  const stop = form([RUNNING, PAUSED], 'cancel', 'Stop', 'CancelReplayJob')
  return [
    ...form([RUNNING], 'pause', 'Pause', 'PauseReplayJob'),
    ...form([PAUSED], 'resume', 'Resume', 'ResumeReplayJob'),
    ...stop.map((one) => ({ ...one, isDangerous: true })),
  ]
}

function idsOf(work: ProjectWork) {
  return { projectId: work.project.projectId, ...pathId(work, 'jobId') }
}

function found({ job }: GetReplayJobResponse): ReplayJob {
  if (job === undefined) throw new Error('an answer without its job')
  return job
}

function shown(job: ReplayJob) {
  return {
    jobId: job.jobId,
    state: wordOf(ReplayJobState, job.state),
    isRunning: job.state === ReplayJobState.RUNNING,
    replayedCount: job.replayedCount,
    ratePerS: job.ratePerS,
    percent: percentOf(job),
  }
}

const everyMs = 1_000
/** Then the browser opens the stream again, which needs a live session. */
const maxPolls = 300

/** The bar as it moves, until the job ends or the stream has lasted long enough. */
async function* progressOf(first: ReplayJob, again: () => Promise<ReplayJob>) {
  let job = first
  for (let polls = 0; polls < maxPolls; polls += 1) {
    yield sse('part', { html: renderPart('replay-progress', { job: shown(job) }) })
    if (job.state !== ReplayJobState.RUNNING) {
      yield sse('end', {})
      return
    }
    await delay(everyMs)
    job = await again()
  }
}

/** A rate of a form, 0 for the default one. Throws INVALID_PARAMETER for another text. */
export function rateOf(text: string | null): number {
  if (text === null || text === '') return 0
  if (!/^\d{1,4}$/.test(text)) throw invalid('rate', 'must be a whole number, 1 to 1000')
  return Number(text)
}

/** How much of the time between the job's bounds it has gone through. */
function percentOf({ state, filter, cursorTime, createTime }: ReplayJob): number {
  if (state === ReplayJobState.DONE) return 100
  const msOf = (time: typeof cursorTime) => (time === undefined ? 0 : timestampDate(time).getTime())
  const from = msOf(filter?.fromTime)
  const to = msOf(filter?.toTime ?? createTime)
  const at = msOf(cursorTime)
  return to <= from ? 0 : Math.min(100, Math.max(0, Math.floor((100 * (at - from)) / (to - from))))
}
