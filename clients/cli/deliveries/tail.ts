// The command that shows attempts as they end, and reports a gap when it missed some.
import { setTimeout as delay } from 'node:timers/promises'
import {
  type DeliveryChange,
  DeliveryChangeSchema,
  DeliveryKind,
  DeliveryService,
  DeliveryState,
  type TailDeliveriesResponse,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { hasMerchantKeys, merchantKeyOptions } from '../api/merchant.ts'
import { type Command, type CommandContext, connectionOptions } from '../command.ts'
import { type Connection, isPassing } from '../connection.ts'
import { attemptResult, jsonLine, time, valueOf, wordOf } from '../output/print.ts'
import { openTable, type Table } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { withConnection } from './command.ts'
import { tailAsMerchant } from './merchant-tail.ts'

const maxS = 86_400
const reconnectMs = 1_000

/** `events tail`. */
export const tailCommand: Command = {
  name: 'events tail',
  operands: '',
  summary: 'Shows attempts as they end, until Ctrl-C.',
  options: {
    ...connectionOptions,
    ...merchantKeyOptions,
    kind: 'notify, callback or onboarding',
    for: 'exit after this many seconds',
  },
  run: (context) =>
    hasMerchantKeys(context) ? tailAsMerchant(context) : withConnection(context, tail),
}

async function tail(context: CommandContext, connection: Connection, projectId: string) {
  const { options, stopping, warn } = context
  const kind = valueOf(DeliveryKind, options['kind'], 'kind')
  const timeoutS = options['for'] === undefined ? maxS : wholeNumber(options['for'], 'for', maxS)
  const client = connection.client(DeliveryService)
  // As wide as what comes: a row is printed before the next one is known.
  const table = openTable(context, [
    'TIME'.padEnd(24),
    'DELIVERY'.padEnd(36),
    'KIND'.padEnd(10),
    'STATE'.padEnd(9),
    'RECEIVER',
    'ATTEMPT',
    'OUTCOME',
  ])
  let connected = false
  for (;;) {
    try {
      const call = { signal: stopping, timeoutMs: timeoutS * 1_000 }
      for await (const item of client.tailDeliveries({ projectId, kind }, call)) {
        if (!connected) warn('tailing')
        connected = true
        show(context, table, item)
      }
    } catch (error) {
      if (!stopping.aborted && !mayGoOn(error, connected)) throw error
    }
    if (stopping.aborted || options['for'] !== undefined) return
    warn('the tail was interrupted and starts again: changes may be missing here')
    await delay(reconnectMs, undefined, { signal: stopping }).catch(() => undefined)
  }
}

/** Whether the tail may go on: its time is over, or a service that had answered is unavailable for a while. */
function mayGoOn(error: unknown, connected: boolean): boolean {
  return isPassing(error) && (connected || error.reason === 'TIMEOUT')
}

function show(
  { json, print, warn }: CommandContext,
  table: Table,
  { event }: TailDeliveriesResponse,
): void {
  if (event.case === 'change') {
    if (json) print(jsonLine(DeliveryChangeSchema, event.value))
    else table.row(cellsOf(event.value))
  }
  if (event.case === 'gap') {
    const { droppedCount } = event.value
    const many = droppedCount === 0n ? 'changes' : `${droppedCount} changes`
    warn(`${many} are missing here`)
    if (json) print(`{"gap":${droppedCount}}`)
  }
}

function cellsOf({ attempt, ...change }: DeliveryChange): string[] {
  return [
    time(attempt?.startTime),
    change.deliveryId,
    wordOf(DeliveryKind, change.kind),
    wordOf(DeliveryState, change.state),
    change.origin,
    String(attempt?.number ?? 0),
    attempt === undefined ? '' : attemptResult(attempt),
  ]
}
