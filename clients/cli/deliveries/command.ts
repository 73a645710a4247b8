// The commands that show, repeat and stop deliveries.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { isUuid } from '#core/identity/id.ts'
import {
  type Delivery,
  DeliveryKind,
  DeliverySchema,
  DeliveryService,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  BreakerState,
  type Endpoint,
  EndpointSchema,
  EndpointService,
} from '#gen/payweave/delivery/v1/endpoint_pb.js'
import {
  type ReplayJob,
  ReplayJobSchema,
  ReplayJobState,
  ReplayService,
} from '#gen/payweave/delivery/v1/replay_pb.js'
import { hasMerchantKeys, merchantKeyOptions } from '../api/merchant.ts'
import { type Command, type CommandContext, connectionOptions } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { createdOptions, createdTimes } from '../operations/list-command.ts'
import { deliveryLines, jobLine, jsonLine, time, valueOf, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import {
  listAsMerchant,
  merchantFilterOptions,
  replayAsMerchant,
  showAsMerchant,
} from './merchant.ts'
import { refuseFilters } from './one-delivery.ts'

const lookAgainMs = 500

/** Options of the commands that work with the keys of a merchant too. */
const eitherOptions = { ...connectionOptions, ...merchantKeyOptions } as const
const filterOptions = {
  kind: 'notify, callback or onboarding',
  state: 'pending, sending, delivered, exhausted, gone, blocked or cancelled',
} as const

/** The commands of `deliveries`. */
export const deliveryCommands: Command[] = [
  {
    name: 'deliveries list',
    operands: '',
    summary: 'Lists deliveries, newest first.',
    example: 'deliveries list --state exhausted --created-from "2026-12-01 09:30:00"',
    options: {
      ...eitherOptions,
      ...filterOptions,
      ...merchantFilterOptions,
      ...createdOptions,
      subject: 'id of the payment request or account',
      limit: 'maximum number (50)',
    },
    run: (context) => byEither(context, listAsMerchant, list),
  },
  {
    name: 'deliveries show',
    operands: '<id>',
    summary: 'Shows a delivery with its attempts.',
    options: eitherOptions,
    run: (context) => byEither(context, showAsMerchant, show),
  },
  {
    name: 'deliveries replay',
    operands: '[<id>]',
    summary:
      'Replays one delivery, or all that match a filter; without --state, exhausted and blocked ones.',
    options: {
      ...eitherOptions,
      ...filterOptions,
      ...merchantFilterOptions,
      ...createdOptions,
      receiver: 'with a bearer: origin of the receivers, such as https://shop.example.com',
      subject: 'id of the payment request or account',
      rate: 'deliveries per second (50)',
      key: 'idempotency key: a repeat with the same key returns the same replay',
    },
    run: (context) =>
      byEither(context, replayAsMerchant, context.operands.length > 0 ? replayOne : replayMany),
  },
  {
    name: 'deliveries cancel',
    operands: '<id>',
    summary: 'Cancels a delivery that is pending or sending; needs a bearer.',
    options: eitherOptions,
    run: (context) => byEither(context, refuseCancel, cancel),
  },
  {
    name: 'deliveries lanes',
    operands: '',
    summary:
      'Lists the lanes of a project: origin, kind, limit, circuit breaker and waiting deliveries.',
    options: connectionOptions,
    run: (context) => withConnection(context, lanes),
  },
]

/** The API has no route for it. */
function refuseCancel(): never {
  throw new UsageError(
    'a merchant cannot cancel a push: pass --url and --token, or let its URL respond with 410, which ends the pushes of its payment',
  )
}

/** Works by the public API with the keys of a merchant, else by the RPCs. */
async function byEither(
  context: CommandContext,
  withMerchantKeys: (context: CommandContext) => Promise<void>,
  work: Work,
): Promise<void> {
  if (hasMerchantKeys(context)) return await withMerchantKeys(context)
  const { options } = context
  const wrong = Object.keys(merchantFilterOptions).find((name) => options[name] !== undefined)
  if (wrong !== undefined) throw new UsageError(`--${wrong} needs the keys of a merchant`)
  return await withConnection(context, work)
}

type Work = (context: CommandContext, connection: Connection, projectId: string) => Promise<void>

/**
 * Does work over a connection to delivery, for the project that is meant, and closes it. Rejects with a UsageError as
 * `connect` does, and with what the work rejects with.
 */
export async function withConnection(context: CommandContext, work: Work): Promise<void> {
  const connection = connect(context.options, context.env)
  try {
    await work(context, connection, await connection.projectId())
  } finally {
    await connection.close()
  }
}

const deliveryShape: ListShape<Delivery> = {
  headings: ['CREATED', 'DELIVERY', 'KIND', 'STATE', 'ATTEMPTS', 'RECEIVER'],
  cells: (delivery) => [
    time(delivery.createTime),
    delivery.deliveryId,
    wordOf(DeliveryKind, delivery.kind),
    wordOf(DeliveryState, delivery.state),
    String(delivery.attemptCount),
    delivery.origin,
  ],
  json: (delivery) => jsonLine(DeliverySchema, delivery),
  none: 'no deliveries',
}

async function list(context: CommandContext, connection: Connection, projectId: string) {
  const { options } = context
  const deliveries = connection.client(DeliveryService)
  const filter = {
    projectId,
    kind: valueOf(DeliveryKind, options['kind'], 'kind'),
    state: valueOf(DeliveryState, options['state'], 'state'),
    subjectId: options['subject'] ?? '',
    ...createdTimes(context),
  }
  const limit = wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
  const pages = pagesOf(limit, async (pageSize, pageToken) => {
    const page = await deliveries.listDeliveries({ ...filter, pageSize, pageToken })
    return { items: page.deliveries, nextPageToken: page.nextPageToken }
  })
  await printList(context, deliveryShape, pages)
}

async function show(context: CommandContext, connection: Connection, projectId: string) {
  const deliveryId = oneId(context)
  const { delivery } = await connection
    .client(DeliveryService)
    .getDelivery({ projectId, deliveryId })
  if (delivery === undefined) return
  const lines = context.json ? [jsonLine(DeliverySchema, delivery)] : deliveryLines(delivery)
  for (const line of lines) context.print(line)
}

async function replayOne(context: CommandContext, connection: Connection, projectId: string) {
  const deliveryId = oneId(context)
  refuseFilters(context)
  const requestId = context.options['key'] ?? randomUUID()
  if (!isUuid(requestId)) throw new UsageError('--key must be a UUID with a single delivery')
  const { delivery } = await connection
    .client(DeliveryService)
    .replayDelivery({ projectId, deliveryId, requestId })
  if (delivery === undefined) return
  await printList(context, deliveryShape, [[delivery]])
}

async function replayMany(context: CommandContext, connection: Connection, projectId: string) {
  const { options, json, print, stopping } = context
  const replays = connection.client(ReplayService)
  const created = await replays.createReplayJob({
    projectId,
    idempotencyKey: options['key'] ?? randomUUID(),
    filter: {
      kind: valueOf(DeliveryKind, options['kind'], 'kind'),
      state: valueOf(DeliveryState, options['state'], 'state'),
      origin: options['receiver'] ?? '',
      subjectId: options['subject'] ?? '',
      ...timesOf(context),
    },
    ratePerS: wholeNumber(options['rate'] ?? '50', 'rate', 1_000),
  })
  let { job } = created
  const jobId = job?.jobId ?? ''
  if (!json) context.warn(`replay ${jobId} runs; Ctrl-C cancels it`)
  const progress = context.progress('made due')
  const { RUNNING, PAUSED } = ReplayJobState
  while (job?.state === RUNNING || job?.state === PAUSED) {
    if (stopping.aborted) ({ job } = await replays.cancelReplayJob({ projectId, jobId }))
    else {
      await delay(lookAgainMs, undefined, { signal: stopping }).catch(() => undefined)
      ;({ job } = await replays.getReplayJob({ projectId, jobId }))
      if (job !== undefined) progress.update(Number(job.replayedCount), shareOf(job))
    }
  }
  progress.stop()
  if (job !== undefined) print(json ? jsonLine(ReplayJobSchema, job) : jobLine(job))
}

function msOf(at: Timestamp | undefined): number {
  return at === undefined ? 0 : timestampDate(at).getTime()
}

/** How much of the time between its bounds a job has gone through. */
function shareOf({ filter, cursorTime, createTime }: ReplayJob): number {
  const [from, to] = [msOf(filter?.fromTime), msOf(filter?.toTime ?? createTime)]
  return to <= from ? 0 : (msOf(cursorTime) - from) / (to - from)
}

async function cancel(context: CommandContext, connection: Connection, projectId: string) {
  const deliveryId = oneId(context)
  const { delivery } = await connection
    .client(DeliveryService)
    .cancelDelivery({ projectId, deliveryId })
  if (delivery === undefined) return
  await printList(context, deliveryShape, [[delivery]])
}

const laneShape: ListShape<Endpoint> = {
  headings: [
    'RECEIVER',
    'KIND',
    'SENDING',
    'LIMIT',
    'WAITING',
    'OLDEST DUE',
    'BREAKER',
    'UNTIL',
    'PAUSED',
    'LANE',
  ],
  cells: (lane) => [
    lane.origin,
    lane.kind === DeliveryKind.UNSPECIFIED ? 'any' : wordOf(DeliveryKind, lane.kind),
    String(lane.sendingCount),
    String(lane.limitNow),
    String(lane.pendingCount),
    time(lane.oldestDueTime),
    wordOf(BreakerState, lane.breaker),
    lane.openUntilTime === undefined ? '' : time(lane.openUntilTime),
    lane.pauseTime === undefined ? '' : time(lane.pauseTime),
    lane.endpointId,
  ],
  json: (lane) => jsonLine(EndpointSchema, lane),
  none: 'no lanes',
}

async function lanes(context: CommandContext, connection: Connection, projectId: string) {
  const endpoints = connection.client(EndpointService)
  const pages = pagesOf(Infinity, async (pageSize, pageToken) => {
    const page = await endpoints.listEndpoints({ projectId, pageSize, pageToken })
    return { items: page.endpoints, nextPageToken: page.nextPageToken }
  })
  await printList(context, laneShape, pages)
}

function oneId({ operands }: CommandContext): string {
  const [id = '', ...others] = operands
  if (isUuid(id) && others.length === 0) return id
  throw new UsageError('name the delivery by its UUID')
}

/** When the deliveries of a replay were created. Throws as `createdTimes` does. */
function timesOf(context: CommandContext): { fromTime?: Timestamp; toTime?: Timestamp } {
  const { startTime, endTime } = createdTimes(context)
  return { ...(startTime && { fromTime: startTime }), ...(endTime && { toTime: endTime }) }
}
