// Replays of many pushes: begin one, follow its bar, stop it.

import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { DeliveryKind } from '#gen/delivery/v1/delivery_pb.js'
import { type ReplayJob, ReplayJobState } from '#gen/delivery/v1/replay_pb.js'
import type { Clients } from '../clients.ts'
import { pathId, type Worker } from '../http/work.ts'
import { sendPage } from '../pages/render.ts'
import { valueOf, wordOf } from '../pages/words.ts'
import { readTime } from './list.ts'

/** Registers `<path>/replays`. */
export function registerReplays(
  app: FastifyInstance,
  path: string,
  { worker, clients: { replays } }: { worker: Worker; clients: Clients },
): void {
  app.post(
    `${path}/replays`,
    worker.projectPage(async ({ reply, project: { projectId }, form }) => {
      const fromTime = readTime('from', form.get('from'))
      const toTime = readTime('to', form.get('to'))
      const kind = valueOf(DeliveryKind, form.get('kind')) ?? DeliveryKind.UNSPECIFIED
      const { job } = await replays.createReplayJob({
        projectId,
        idempotencyKey: form.get('request_id') ?? '',
        filter: { kind, ...(fromTime && { fromTime }), ...(toTime && { toTime }) },
        ratePerS: rateOf(form.get('rate')),
      })
      return reply.redirect(`/projects/${projectId}/pushes/replays/${job?.jobId ?? ''}`, 303)
    }),
  )
  app.get(
    `${path}/replays/:jobId`,
    worker.projectPage(async (work) => {
      const { reply, project, may } = work
      const { projectId } = project
      const { jobId } = pathId(work, 'jobId')
      const { job } = await replays.getReplayJob({ projectId, jobId })
      if (job === undefined) throw new Error('an answer without its job')
      const base = `/projects/${projectId}/pushes`
      return sendPage(reply, 'replay', {
        title: `Replay ${jobId}`,
        base,
        self: `${base}/replays/${jobId}`,
        job: {
          jobId: job.jobId,
          state: wordOf(ReplayJobState, job.state),
          isRunning: job.state === ReplayJobState.RUNNING,
          replayedCount: job.replayedCount,
          ratePerS: job.ratePerS,
          percent: percentOf(job),
        },
        mayCancel: may('delivery.v1.ReplayService/CancelReplayJob'),
      })
    }),
  )
  app.post(
    `${path}/replays/:jobId/cancel`,
    worker.projectPage(async (work) => {
      const { reply, project } = work
      const { projectId } = project
      const { jobId } = pathId(work, 'jobId')
      await replays.cancelReplayJob({ projectId, jobId })
      return reply.redirect(`/projects/${projectId}/pushes/replays/${jobId}`, 303)
    }),
  )
}

function rateOf(text: string | null): number {
  if (text === null || text === '') return 0
  if (!/^\d{1,4}$/.test(text)) throw invalid('rate', 'must be a whole number, 1 to 1000')
  return Number(text)
}

/** How much of the time between the job's bounds it has gone through. */
function percentOf({ state, filter, cursorTime, createTime }: ReplayJob): number {
  if (state !== ReplayJobState.RUNNING) return 100
  const msOf = (time: typeof cursorTime) => (time === undefined ? 0 : timestampDate(time).getTime())
  const from = msOf(filter?.fromTime)
  const to = msOf(filter?.toTime ?? createTime)
  const at = msOf(cursorTime)
  return to <= from ? 0 : Math.min(100, Math.max(0, Math.floor((100 * (at - from)) / (to - from))))
}
