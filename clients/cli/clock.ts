// The command that shows and moves the test clock of a sandbox, in all services that have business times.
import type { Client } from '@connectrpc/connect'
import { type Clock, ClockService } from '#gen/payweave/clock/v1/clock_pb.js'
import type { Command, CommandContext } from './command.ts'
import { type Connection, connect } from './connection.ts'
import { time } from './output/print.ts'
import { openTable } from './output/table.ts'
import { reset } from './sandbox.ts'
import { UsageError } from './usage-error.ts'

const parts = ['payments', 'accounts', 'institution', 'quotes', 'billing'] as const
type Part = (typeof parts)[number]

const addresses = Object.fromEntries(
  parts.map((part) => [`${part}-url`, `address of ${part}, instead of the one in sandbox.json`]),
)

/** `sandbox clock`. */
export const clockCommand: Command = {
  name: 'sandbox clock',
  operands: 'show | advance <duration> | reset',
  operandWords: ['show', 'advance', 'reset'],
  summary:
    'Shows business time, or moves it ahead by a duration such as 90s or 3d12h: what is due by then expires or happens. "reset" is "sandbox reset", since it never goes back otherwise.',
  example: 'sandbox clock advance 25h',
  options: {
    'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
    ...addresses,
    token: 'bearer for these addresses (better: set PAYWEAVE_TOKEN)',
  },
  flags: { yes: 'with reset: confirms that the data is removed' },
  run: clock,
}

const secondsOf = { d: 86_400, h: 3_600, m: 60, s: 1 } as const

/** Milliseconds of a duration such as 90s or 3d12h. Throws a UsageError. */
export function durationMs(text: string): bigint {
  const match = /^(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?$/.exec(text)
  if (text === '' || match === null) {
    throw new UsageError(`the duration must be like 90s, 25h or 3d12h, not ${JSON.stringify(text)}`)
  }
  const counts = match.slice(1)
  const seconds = Object.values(secondsOf).map((each, index) => Number(counts[index] ?? 0) * each)
  return BigInt(seconds.reduce((sum, one) => sum + one, 0)) * 1_000n
}

type Clocks = { part: Part; service: Client<typeof ClockService> }[]

async function clock(context: CommandContext): Promise<number | void> {
  const [word = 'show', duration, ...others] = context.operands
  if (word === 'reset' && duration === undefined) return reset(context)
  const isAdvance = word === 'advance'
  if (
    !(isAdvance || word === 'show') ||
    others.length > 0 ||
    isAdvance !== (duration !== undefined)
  ) {
    throw new UsageError('say "show", "advance" and a duration, or "reset"')
  }
  const byMs = duration === undefined ? undefined : durationMs(duration)
  const { options, env } = context
  const open: Connection[] = []
  try {
    const clocks: Clocks = parts.map((part) => {
      const connection = connect({ ...options, url: options[`${part}-url`] }, env, part)
      open.push(connection)
      return { part, service: connection.client(ClockService) }
    })
    const read = await readAll(clocks)
    return show(context, byMs === undefined ? read : await advance(clocks, read, byMs))
  } finally {
    await Promise.all(open.map((connection) => connection.close()))
  }
}

type Reading = { part: Part; clock: Clock }

async function readAll(clocks: Clocks): Promise<Reading[]> {
  return Promise.all(
    clocks.map(async ({ part, service }) => ({
      part,
      clock: known((await service.getClock({})).clock),
    })),
  )
}

/** Moves all to the same time, that of the one that is furthest ahead and `byMs` more. */
async function advance(clocks: Clocks, read: Reading[], byMs: bigint): Promise<Reading[]> {
  const furthestMs = read.reduce((ms, { clock: { aheadMs } }) => (aheadMs > ms ? aheadMs : ms), 0n)
  const aheadMs = furthestMs + byMs
  const moves = await Promise.allSettled(
    clocks.map(({ service }) => service.advanceClock({ aheadMs })),
  )
  const failed = clocks.filter((_, index) => moves[index]?.status === 'rejected')
  const [first] = moves.flatMap((move) => (move.status === 'rejected' ? [move.reason] : []))
  if (failed.length === clocks.length) throw first
  if (failed.length > 0) {
    const names = failed.map(({ part }) => part).join(', ')
    throw new Error(`${names} did not move; "advance 0s" moves them to where the others are`, {
      cause: first,
    })
  }
  return moves.flatMap((move, index) => {
    const part = clocks[index]?.part
    if (part === undefined || move.status === 'rejected') return []
    return [{ part, clock: known(move.value.clock) }]
  })
}

function known(found: Clock | undefined): Clock {
  if (found === undefined) throw new Error('the answer has no clock')
  return found
}

/** One line when all are at the same time; otherwise one for each, and exit code 1. */
function show(context: CommandContext, read: Reading[]): number {
  const [first] = read
  const isSame = read.every(({ clock: { aheadMs } }) => aheadMs === first?.clock.aheadMs)
  if (context.json) {
    for (const {
      part,
      clock: { businessTime, aheadMs },
    } of read) {
      context.print(
        JSON.stringify({
          service: part,
          business_time: time(businessTime),
          ahead_s: Number(aheadMs) / 1_000,
        }),
      )
    }
  } else if (isSame && first !== undefined) {
    context.print(`business time ${time(first.clock.businessTime)}, ${aheadOf(first.clock)}`)
  } else {
    openTable(context, ['SERVICE', 'BUSINESS TIME', 'AHEAD']).rows(
      read.map(({ part, clock: one }) => [part, time(one.businessTime), aheadOf(one)]),
    )
  }
  if (!isSame)
    context.warn('the services differ: "sandbox clock advance 0s" moves them to the same time')
  return isSame ? 0 : 1
}

function aheadOf({ aheadMs }: Clock): string {
  if (aheadMs === 0n) return 'which is real time'
  let leftS = Math.round(Number(aheadMs) / 1_000)
  const words = Object.entries(secondsOf).flatMap(([unit, seconds]) => {
    const count = Math.floor(leftS / seconds)
    leftS -= count * seconds
    return count === 0 ? [] : [`${count}${unit}`]
  })
  return `${words.join(' ') || '0s'} ahead`
}
