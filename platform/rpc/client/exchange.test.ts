// When a read-only call is sent to a second replica and which answer counts, by a clock that the test moves.
import { setImmediate as turn } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { Dispatcher } from 'undici'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { exchange, exchangeReadOnly, type HttpResponse } from './exchange.ts'
import { type HedgingDispatcher, hedgeCounts } from './hedging.ts'

/** One request as a replica has it. */
type Sent = {
  options: Dispatcher.DispatchOptions
  aborted: Error | undefined
  answer(status?: number): void
  begin(): void
  fail(error: Error): void
}

let sent: Sent[]
let hasOther: boolean
const before = { ...hedgeCounts }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  sent = []
  hasOther = true
  Object.assign(before, hedgeCounts)
})
afterEach(() => {
  vi.useRealTimers()
})

/** Moves the clock and ends the turn of the event loop. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await turn()
}

/** Outcomes of the hedges in this test. */
function counted() {
  const changed = Object.entries(hedgeCounts).map(([outcome, count]) => {
    return [outcome, count - before[outcome as keyof typeof before]] as const
  })
  return Object.fromEntries(changed.filter(([, count]) => count > 0))
}

function start(
  options: Dispatcher.DispatchOptions,
  { onRequestStart, onResponseStart, onResponseData, onResponseEnd, onResponseError }: Handler,
): void {
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (reason: Error) => {
      one.aborted ??= reason
      onResponseError(controller, reason)
    },
    pause: () => undefined,
    resume: () => undefined,
  }
  const begin = (status = 200) => onResponseStart(controller, status, {})
  const one: Sent = {
    options,
    aborted: undefined,
    begin,
    answer(status) {
      begin(status)
      onResponseData(controller, Buffer.from(`replica ${sent.indexOf(one) + 1}`))
      onResponseEnd(controller, {})
    },
    fail: (error) => onResponseError(controller, error),
  }
  sent.push(one)
  onRequestStart(controller, undefined)
}

type Handler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>

/** The methods of a handler, which are called without it. */
function bound(handler: Dispatcher.DispatchHandler): Handler {
  const all = handler as Handler
  return {
    onRequestStart: (...given) => all.onRequestStart(...given),
    onResponseStart: (...given) => all.onResponseStart(...given),
    onResponseData: (...given) => all.onResponseData(...given),
    onResponseEnd: (...given) => all.onResponseEnd(...given),
    onResponseError: (...given) => all.onResponseError(...given),
  }
}

const replicas: HedgingDispatcher = {
  dispatchReadOnly(options, handler) {
    start(options, bound(handler))
    return {
      hedge(again, other) {
        if (hasOther) start(again, bound(other))
        return hasOther
      },
    }
  },
}

const request = { path: '/', method: 'POST' as const, headers: { 'connect-timeout-ms': '1000' } }

function call(more: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const limits = { timeoutMs: 1_000, signal: undefined, maxBytes: 100, ...more }
  const answered = exchangeReadOnly(replicas, request, limits)
  // The test looks at it later.
  answered.catch(() => undefined)
  return answered
}

const textOf = ({ body }: HttpResponse) => Buffer.from(body).toString()
const timeoutOf = ({ options }: Sent) =>
  (options.headers as Record<string, string>)['connect-timeout-ms']

describe('a read-only call', () => {
  it('a read-only call that is answered soon goes to one replica', async () => {
    const answered = call()
    await pass(299)
    sent[0]?.answer()
    expect(textOf(await answered)).toBe('replica 1')
    await pass(5_000)
    expect(sent).toHaveLength(1)
    expect(counted()).toEqual({})
  })

  it('a read-only call without an answer after 300 ms goes to a second one, whose answer ends the first', async () => {
    const answered = call()
    await pass(300)
    expect(sent.map(timeoutOf)).toEqual(['1000', '700'])
    sent[1]?.answer()
    expect(textOf(await answered)).toBe('replica 2')
    expect(sent[0]?.aborted).toBeInstanceOf(Error)
    expect(sent[1]?.aborted).toBeUndefined()
    expect(counted()).toEqual({ won: 1 })
  })

  it('a read-only call ends the second when the first answers after all', async () => {
    const answered = call()
    await pass(400)
    sent[0]?.answer()
    expect(textOf(await answered)).toBe('replica 1')
    expect(sent[1]?.aborted).toBeInstanceOf(Error)
    expect(counted()).toEqual({ lost: 1 })
  })

  it('a read-only call is not sent again while its answer is on its way', async () => {
    const answered = call()
    sent[0]?.begin()
    await pass(500)
    sent[0]?.answer()
    await answered
    expect(sent).toHaveLength(1)
  })

  it('a read-only call takes no more than its time in all', async () => {
    const answered = call()
    await pass(300)
    await pass(699)
    expect(sent.map(({ aborted }) => aborted)).toEqual([undefined, undefined])
    await pass(1)
    await expect(answered).rejects.toMatchObject({ code: Code.DeadlineExceeded })
    expect(sent.every(({ aborted }) => aborted !== undefined)).toBe(true)
    expect(counted()).toEqual({ failed: 1 })
  })

  it('a read-only call with less time than 300 ms goes to one replica', async () => {
    const answered = call({ timeoutMs: 200 })
    await pass(200)
    await expect(answered).rejects.toMatchObject({ code: Code.DeadlineExceeded })
    expect(sent).toHaveLength(1)
  })

  it('a read-only call waits on where there is no other replica, or no budget', async () => {
    hasOther = false
    const answered = call()
    await pass(900)
    expect(sent).toHaveLength(1)
    sent[0]?.answer()
    expect(textOf(await answered)).toBe('replica 1')
    expect(counted()).toEqual({})
  })

  it.each([429, 503, 504])(
    'a read-only call waits for the other replica when one answers %i',
    async (status) => {
      const answered = call()
      await pass(300)
      sent[1]?.answer(status)
      sent[0]?.answer()
      expect(textOf(await answered)).toBe('replica 1')
    },
  )

  it('a read-only call takes a refusal of either as the answer', async () => {
    const answered = call()
    await pass(300)
    sent[1]?.answer(401)
    expect((await answered).status).toBe(401)
    expect(sent[0]?.aborted).toBeInstanceOf(Error)
  })

  it('a read-only call fails when both replicas fail', async () => {
    const answered = call()
    await pass(300)
    sent[0]?.fail(new Error('reset'))
    sent[1]?.fail(new Error('reset'))
    await expect(answered).rejects.toMatchObject({ code: Code.Unavailable })
    expect(counted()).toEqual({ failed: 1 })
  })

  it('a read-only call is not sent again when it fails before', async () => {
    const answered = call()
    sent[0]?.fail(new Error('reset'))
    await expect(answered).rejects.toBeInstanceOf(ConnectError)
    await pass(5_000)
    expect(sent).toHaveLength(1)
  })

  it('a read-only call is cancelled at both replicas when its caller goes away', async () => {
    const leaving = new AbortController()
    const answered = call({ signal: leaving.signal })
    await pass(300)
    leaving.abort(new Error('gone'))
    await expect(answered).rejects.toMatchObject({ code: Code.Canceled })
    expect(sent.every(({ aborted }) => aborted !== undefined)).toBe(true)
  })

  it('a read-only call has what came while this process stood still', async () => {
    const answered = call({ timeoutMs: 300 })
    vi.advanceTimersByTime(300)
    // What the sockets hold is read after the timers of a turn, and before its immediates.
    sent[0]?.answer()
    await turn()
    expect(textOf(await answered)).toBe('replica 1')
  })
})

it('any other call is never sent again', async () => {
  class Once extends Dispatcher {
    override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      start(options, bound(handler))
      return true
    }
  }
  const limits = { timeoutMs: 1_000, signal: undefined, maxBytes: 100 }
  const answered = exchange(new Once(), request, limits)
  answered.catch(() => undefined)
  await pass(1_000)
  await expect(answered).rejects.toMatchObject({ code: Code.DeadlineExceeded })
  expect(sent).toHaveLength(1)
})
