// The commands that list the replays of a project, and pause, resume and stop one.
import { isUuid } from '#core/identity/id.ts'
import { DeliveryKind, DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  type ReplayJob,
  ReplayJobSchema,
  ReplayJobState,
  ReplayService,
} from '#gen/payweave/delivery/v1/replay_pb.js'
import { oneOperand } from '../access.ts'
import { type Command, type CommandContext, connectionOptions } from '../command.ts'
import { jobLine, jsonLine, printable, time, valueOf, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { withConnection } from './command.ts'

/** The commands of `replay`; `deliveries replay` begins one. */
export const replayCommands: Command[] = [
  {
    name: 'replay list',
    operands: '',
    summary: 'Lists the replays of a project, newest first.',
    example: 'replay list --state running',
    options: {
      ...connectionOptions,
      state: 'running, paused, done or cancelled',
      limit: 'maximum number (50)',
    },
    run: list,
  },
  {
    name: 'replay pause',
    operands: '<replay id>',
    summary: 'Pauses a replay until it is resumed.',
    options: connectionOptions,
    run: (context) => change(context, 'pauseReplayJob'),
  },
  {
    name: 'replay resume',
    operands: '<replay id>',
    summary: 'Continues a paused replay from where it stopped.',
    options: connectionOptions,
    run: (context) => change(context, 'resumeReplayJob'),
  },
  {
    name: 'replay stop',
    operands: '<replay id>',
    summary: 'Stops a replay for good; deliveries that it has made due are still sent.',
    options: connectionOptions,
    run: (context) => change(context, 'cancelReplayJob'),
  },
]

function change(
  context: CommandContext,
  call: 'pauseReplayJob' | 'resumeReplayJob' | 'cancelReplayJob',
): Promise<void> {
  const jobId = oneOperand(context, 'replay id')
  if (!isUuid(jobId)) throw new UsageError('name the replay by its UUID')
  return withConnection(context, async ({ json, print }, connection, projectId) => {
    const { job } = await connection.client(ReplayService)[call]({ projectId, jobId })
    if (job !== undefined) print(json ? jsonLine(ReplayJobSchema, job) : jobLine(job))
  })
}

const shape: ListShape<ReplayJob> = {
  headings: [
    'BEGAN',
    'REPLAY',
    'STATE',
    'SENT AGAIN',
    'RATE',
    'KIND',
    'ENDED AS',
    'ABOUT',
    'ENDED',
  ],
  cells: (job) => {
    const { kind = 0, state = 0, origin = '', subjectId = '' } = job.filter ?? {}
    return [
      time(job.createTime),
      job.jobId,
      wordOf(ReplayJobState, job.state),
      String(job.replayedCount),
      String(job.ratePerS),
      kind === DeliveryKind.UNSPECIFIED ? 'any' : wordOf(DeliveryKind, kind),
      state === DeliveryState.UNSPECIFIED ? 'given up' : wordOf(DeliveryState, state),
      printable([origin, subjectId].filter((one) => one !== '').join(' ') || 'any'),
      job.endTime === undefined ? '' : time(job.endTime),
    ]
  },
  json: (job) => jsonLine(ReplayJobSchema, job),
  none: 'no replays',
}

function list(context: CommandContext): Promise<void> {
  const limit = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
  const state = valueOf(ReplayJobState, context.options['state'], 'state')
  return withConnection(context, async (_context, connection, projectId) => {
    const replays = connection.client(ReplayService)
    const pages = pagesOf(limit, async (pageSize, pageToken) => {
      const page = await replays.listReplayJobs({ projectId, state, pageSize, pageToken })
      return { items: page.jobs, nextPageToken: page.nextPageToken }
    })
    await printList(context, shape, pages)
  })
}
