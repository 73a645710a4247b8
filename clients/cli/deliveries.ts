// The commands that show, repeat and stop deliveries.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { isUuid } from '#core/identity/id.ts'
import {
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
  ReplayJobSchema,
  ReplayJobState,
  ReplayService,
} from '#gen/payweave/delivery/v1/replay_pb.js'
import { type Command, type CommandContext, connectionOptions } from './command.ts'
import { type Connection, connect } from './connection.ts'
import { deliveryLine, deliveryLines, jobLine, jsonLine, time, valueOf, wordOf } from './print.ts'
import { UsageError } from './usage-error.ts'

const maxPageSize = 200
const lookAgainMs = 500

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
    options: {
      ...connectionOptions,
      ...filterOptions,
      subject: 'id of the payment request or account',
      limit: 'maximum number (50)',
    },
    run: (context) => withConnection(context, list),
  },
  {
    name: 'deliveries show',
    operands: '<id>',
    summary: 'Shows a delivery with its attempts.',
    options: connectionOptions,
    run: (context) => withConnection(context, show),
  },
  {
    name: 'deliveries replay',
    operands: '[<id>]',
    summary:
      'Replays one delivery, or all that match a filter; without --state, exhausted and blocked ones.',
    options: {
      ...connectionOptions,
      ...filterOptions,
      from: 'created at this time or later, ISO 8601',
      to: 'created before this time, ISO 8601',
      rate: 'deliveries per second (50)',
      key: 'idempotency key: a repeat with the same key returns the same replay',
    },
    run: (context) => withConnection(context, context.operands.length > 0 ? replayOne : replayMany),
  },
  {
    name: 'deliveries cancel',
    operands: '<id>',
    summary: 'Cancels a delivery that is pending or sending.',
    options: connectionOptions,
    run: (context) => withConnection(context, cancel),
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

async function list(context: CommandContext, connection: Connection, projectId: string) {
  const { options, json, print } = context
  const deliveries = connection.client(DeliveryService)
  const filter = {
    projectId,
    kind: valueOf(DeliveryKind, options['kind'], 'kind'),
    state: valueOf(DeliveryState, options['state'], 'state'),
    subjectId: options['subject'] ?? '',
  }
  let left = wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
  let pageToken = ''
  do {
    const pageSize = Math.min(left, maxPageSize)
    const page = await deliveries.listDeliveries({ ...filter, pageSize, pageToken })
    for (const delivery of page.deliveries) {
      print(json ? jsonLine(DeliverySchema, delivery) : deliveryLine(delivery))
    }
    left -= page.deliveries.length
    pageToken = page.nextPageToken
  } while (pageToken !== '' && left > 0)
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
  for (const option of ['kind', 'state', 'from', 'to', 'rate']) {
    if (context.options[option] !== undefined) {
      throw new UsageError(`--${option} selects many deliveries and cannot be combined with <id>`)
    }
  }
  const requestId = context.options['key'] ?? randomUUID()
  if (!isUuid(requestId)) throw new UsageError('--key must be a UUID with a single delivery')
  const { delivery } = await connection
    .client(DeliveryService)
    .replayDelivery({ projectId, deliveryId, requestId })
  if (delivery === undefined) return
  context.print(context.json ? jsonLine(DeliverySchema, delivery) : deliveryLine(delivery))
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
      ...timeOption('fromTime', 'from', options),
      ...timeOption('toTime', 'to', options),
    },
    ratePerS: wholeNumber(options['rate'] ?? '50', 'rate', 1_000),
  })
  let { job } = created
  const jobId = job?.jobId ?? ''
  if (!json) context.warn(`replay ${jobId} runs; Ctrl-C cancels it`)
  while (job?.state === ReplayJobState.RUNNING) {
    if (stopping.aborted) ({ job } = await replays.cancelReplayJob({ projectId, jobId }))
    else {
      await delay(lookAgainMs, undefined, { signal: stopping }).catch(() => undefined)
      ;({ job } = await replays.getReplayJob({ projectId, jobId }))
    }
  }
  if (job !== undefined) print(json ? jsonLine(ReplayJobSchema, job) : jobLine(job))
}

async function cancel(context: CommandContext, connection: Connection, projectId: string) {
  const deliveryId = oneId(context)
  const { delivery } = await connection
    .client(DeliveryService)
    .cancelDelivery({ projectId, deliveryId })
  if (delivery === undefined) return
  context.print(context.json ? jsonLine(DeliverySchema, delivery) : deliveryLine(delivery))
}

async function lanes({ json, print }: CommandContext, connection: Connection, projectId: string) {
  const endpoints = connection.client(EndpointService)
  let pageToken = ''
  do {
    const page = await endpoints.listEndpoints({ projectId, pageSize: maxPageSize, pageToken })
    for (const lane of page.endpoints) print(json ? jsonLine(EndpointSchema, lane) : laneLine(lane))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
}

function laneLine(lane: Endpoint): string {
  const kind = lane.kind === DeliveryKind.UNSPECIFIED ? 'any' : wordOf(DeliveryKind, lane.kind)
  const openUntil = lane.openUntilTime === undefined ? '' : ` until ${time(lane.openUntilTime)}`
  return [
    lane.origin,
    kind.padEnd(10),
    `${lane.sendingCount} of ${lane.limitNow} sending`,
    `${lane.pendingCount} waiting`,
    `oldest due ${time(lane.oldestDueTime)}`,
    `breaker ${wordOf(BreakerState, lane.breaker)}${openUntil}`,
  ].join('  ')
}

function oneId({ operands }: CommandContext): string {
  const [id = '', ...others] = operands
  if (isUuid(id) && others.length === 0) return id
  throw new UsageError('name the delivery by its UUID')
}

function timeOption<N extends string>(
  field: N,
  option: string,
  options: CommandContext['options'],
): Partial<Record<N, Timestamp>> {
  const text = options[option]
  if (text === undefined) return {}
  const atMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs))
    throw new UsageError(`--${option} must be a time like 2026-03-01T10:00:00Z`)
  return { [field]: timestampFromDate(new Date(atMs)) } as Partial<Record<N, Timestamp>>
}

/**
 * Reads an option that is a whole number from 1 to `most`. Throws a UsageError that names the option for anything else.
 */
export function wholeNumber(text: string, option: string, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value >= 1 && value <= most) return value
  throw new UsageError(`--${option} must be a whole number from 1 to ${most}`)
}
