// The commands that pause and resume the lanes of receivers, and list who did.
import { isUuid } from '#core/identity/id.ts'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import {
  type EndpointChange,
  EndpointChangeSchema,
  EndpointService,
} from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { oneOperand } from '../access.ts'
import { type Command, type CommandContext, connectionOptions } from '../command.ts'
import { jsonLine, printable, time, valueOf, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { withConnection } from './command.ts'

const changeOptions = { ...connectionOptions, note: 'why, at most 200 characters' } as const

/** The commands on pauses of lanes. */
export const pauseCommands: Command[] = [
  {
    name: 'deliveries pause',
    operands: '<lane id>',
    summary: 'Pauses a lane: its pushes wait until it is resumed.',
    options: changeOptions,
    run: (context) => change(context, 'paused'),
  },
  {
    name: 'deliveries resume',
    operands: '<lane id>',
    summary: 'Resumes a lane: what has waited is sent.',
    options: changeOptions,
    run: (context) => change(context, 'resumed'),
  },
  {
    name: 'deliveries pauses',
    operands: '',
    summary: 'Lists who paused and resumed the lanes of a project, newest first.',
    options: {
      ...connectionOptions,
      kind: 'lanes with pushes of this kind, such as notify',
      limit: 'maximum number (50)',
    },
    run: listChanges,
  },
]

function change(context: CommandContext, state: 'paused' | 'resumed'): Promise<void> {
  const endpointId = oneOperand(context, 'lane id')
  if (!isUuid(endpointId)) throw new UsageError('name the lane by its UUID')
  return withConnection(context, async ({ options, json, print }, connection, projectId) => {
    const endpoints = connection.client(EndpointService)
    const wanted = { projectId, endpointId, note: options['note'] ?? '' }
    if (state === 'paused') await endpoints.pauseEndpoint(wanted)
    else await endpoints.resumeEndpoint(wanted)
    print(
      json
        ? JSON.stringify({ endpoint_id: endpointId, state })
        : `the lane ${endpointId} is ${state}`,
    )
  })
}

const shape: ListShape<EndpointChange> = {
  headings: ['TIME', 'CALLER', 'CHANGE', 'RECEIVER', 'KIND', 'LANE', 'NOTE'],
  cells: (one) => [
    time(one.changeTime),
    printable(one.caller),
    one.isPaused ? 'paused' : 'resumed',
    printable(one.origin),
    wordOf(DeliveryKind, one.kind),
    one.endpointId,
    printable(one.note),
  ],
  json: (one) => jsonLine(EndpointChangeSchema, one),
  none: 'no pauses',
}

function listChanges(context: CommandContext): Promise<void> {
  const kind = valueOf(DeliveryKind, context.options['kind'], 'kind')
  const limit = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
  return withConnection(context, async (_context, connection, projectId) => {
    const endpoints = connection.client(EndpointService)
    const pages = pagesOf(limit, async (pageSize, pageToken) => {
      const page = await endpoints.listEndpointChanges({ projectId, kind, pageSize, pageToken })
      return { items: page.changes, nextPageToken: page.nextPageToken }
    })
    await printList(context, shape, pages)
  })
}
