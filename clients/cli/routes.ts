// The commands on routes: which connector takes which charges and payouts.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { PaymentChannel, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  type Route,
  type RouteChange,
  RouteChangeSchema,
  type RouteKey,
  type RouteKeySchema,
  RouteKind,
  RouteSchema,
  RoutingService,
} from '#gen/payweave/payments/v1/routes_pb.js'
import { type Command, type CommandContext, optionsFor } from './command.ts'
import { type Connection, connect } from './connection.ts'
import { jsonLine, printable, time, valueOf, wordOf } from './output/print.ts'
import { type ListShape, printList } from './output/table.ts'
import { UsageError } from './usage-error.ts'

const paymentsOptions = optionsFor('payments')
const keyOptions = {
  project: 'UUID, or a name in sandbox.json (any project)',
  currency: 'ISO 4217 code (any currency)',
  channel: 'agent, direct_pos or payment_link (any channel)',
  method: 'cash, card, wallet, credit, debit or qr_code (any method)',
  ...paymentsOptions,
} as const
const keyFlags = { payouts: 'of payouts instead of charges; they have no channel and no method' }

/** The commands of `routes`. */
export const routeCommands: Command[] = [
  {
    name: 'routes list',
    operands: '',
    summary: 'Lists the routes in the order in which they count, and the connectors.',
    options: paymentsOptions,
    run: (context) => withRoutes(context, list),
  },
  {
    name: 'routes set',
    operands: '',
    summary: 'Makes a route, or replaces the one for the same charges or payouts.',
    options: {
      connector: 'name of the connector, one of BACKEND_NAME and CONNECTORS',
      fallback: 'connector to call when the first one certainly received nothing',
      ...keyOptions,
    },
    flags: keyFlags,
    run: (context) => withRoutes(context, set),
  },
  {
    name: 'routes remove',
    operands: '',
    summary: 'Removes a route.',
    options: keyOptions,
    flags: keyFlags,
    run: (context) => withRoutes(context, remove),
  },
  {
    name: 'routes changes',
    operands: '',
    summary: 'Lists who changed which route, newest first.',
    options: paymentsOptions,
    run: (context) => withRoutes(context, changes),
  },
]

type Routes = Client<typeof RoutingService>
type RoutesWork = (context: CommandContext, routes: Routes, connection: Connection) => Promise<void>

async function withRoutes(context: CommandContext, work: RoutesWork): Promise<void> {
  const connection = connect(context.options, context.env, 'payments')
  try {
    await work(context, connection.client(RoutingService), connection)
  } finally {
    await connection.close()
  }
}

const keyHeadings = ['FOR', 'PROJECT', 'CURRENCY', 'CHANNEL', 'METHOD']

const routeShape: ListShape<Route> = {
  headings: [...keyHeadings, 'CONNECTOR', 'FALLBACK', 'CHANGED', 'BY'],
  cells: ({ key, connector, fallbackConnector, changedBy, updateTime }) => [
    ...keyCells(key),
    connector,
    fallbackConnector,
    time(updateTime),
    printable(changedBy),
  ],
  json: (route) => jsonLine(RouteSchema, route),
  none: 'no routes',
}

const changeShape: ListShape<RouteChange> = {
  headings: ['TIME', 'BY', ...keyHeadings, 'CONNECTOR', 'FALLBACK'],
  cells: ({ key, connector, fallbackConnector, caller, changeTime }) => [
    time(changeTime),
    printable(caller),
    ...keyCells(key),
    connector || 'removed',
    fallbackConnector,
  ],
  json: (change) => jsonLine(RouteChangeSchema, change),
  none: 'no changes',
}

const list: RoutesWork = async (context, service) => {
  const { routes, connectors, defaultConnector } = await service.listRoutes({})
  await printList(context, routeShape, [routes])
  if (context.json) return
  context.print(`all others go to ${defaultConnector}; connectors: ${connectors.join(', ')}`)
}

const set: RoutesWork = async (context, service, connection) => {
  const { connector, fallback = '' } = context.options
  if (connector === undefined) throw new UsageError('--connector is missing')
  const key = await keyOf(context, connection)
  await service.putRoute({ key, connector, fallbackConnector: fallback })
}

const remove: RoutesWork = async (context, service, connection) => {
  await service.deleteRoute({ key: await keyOf(context, connection) })
}

const changes: RoutesWork = async (context, service) => {
  const found = await service.listRouteChanges({})
  await printList(context, changeShape, [found.changes])
}

async function keyOf(
  { options, flags, operands }: CommandContext,
  connection: Connection,
): Promise<MessageInitShape<typeof RouteKeySchema>> {
  if (operands.length > 0) throw new UsageError('pass options only')
  return {
    kind: flags.has('payouts') ? RouteKind.PAYOUT : RouteKind.CHARGE,
    projectId: options['project'] === undefined ? '' : await connection.projectId(),
    currency: options['currency'] ?? '',
    channel: valueOf(PaymentChannel, options['channel'], 'channel'),
    method: valueOf(PaymentMethod, options['method'], 'method'),
  }
}

function keyCells(key: RouteKey | undefined): string[] {
  if (key === undefined) return keyHeadings.map(() => '')
  const { kind, projectId, currency, channel, method } = key
  return [
    `${wordOf(RouteKind, kind)}s`,
    projectId || 'any',
    currency || 'any',
    channel === PaymentChannel.UNSPECIFIED ? 'any' : wordOf(PaymentChannel, channel),
    method === PaymentMethod.UNSPECIFIED ? 'any' : wordOf(PaymentMethod, method),
  ]
}
