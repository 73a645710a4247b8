// Tests when direct calls are made, and when their tasks are ended: alone at once, and otherwise together.
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { createManualTimers } from '#platform/testing/timers.ts'
import { silentLog } from '../../../test/support/database.ts'
import { fixedKeys } from '../../../test/support/keys.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import { routingOf } from '../domain/routing.ts'
import { type Backend, connectorsOf } from '../ports/backend.ts'
import { startCallMaker, startDirectCalls } from './calls.ts'

const common = { connector: null, attempts: 1, unsentAttempts: 0 }

function payoutOf(subjectId: string): BackendCall {
  const money = { amountMinor: 1n, currency: 'USD' }
  const mobileNumberE164 = '+12025550108'
  return { ...common, kind: 'payout', subjectId, projectId: '', ...money, mobileNumberE164 }
}

function announcementOf(subjectId: string): BackendCall {
  const charge = { amountMinor: 1n, paymentChannel: 'payment_link' }
  return { ...common, kind: 'announce', subjectId, charge } as unknown as BackendCall
}

/** Direct calls in a time that passes only when the test says so, what they made, and the ids of tasks that they released. */
function directCalls() {
  const timers = createManualTimers()
  const made: string[][] = []
  const released: string[] = []
  const ended = Promise.withResolvers<void>()
  const db = {
    run: (_: unknown, [ids]: [string[]]) => Promise.resolve(released.push(...ids)),
  } as unknown as Database
  const connectors = connectorsOf(new Map([['simulator', {} as Backend]]), 'simulator')
  const calls = startDirectCalls({ db, log: silentLog, connectors, timers }, (some) => {
    made.push(some.map(({ subjectId }) => subjectId))
    return ended.promise
  })
  return {
    made,
    released,
    end: ended.resolve,
    payOut: (...ids: string[]) => calls.call(ids.map(payoutOf)),
    announce: (...ids: string[]) => calls.call(ids.map(announcementOf)),
    pass: timers.advance,
    async close() {
      const closed = calls.close()
      await timers.advance(100)
      await closed
    },
  }
}

it('a payout alone is made at once, and those that come within 50 ms after it begin together', async () => {
  const { made, payOut, pass, end, close } = directCalls()
  payOut('first')
  expect(made).toEqual([['first']])
  await pass(20)
  payOut('second')
  await pass(20)
  payOut('third')
  expect(made).toHaveLength(1)
  await pass(10)
  expect(made).toEqual([['first'], ['second'], ['third']])
  await pass(50)
  payOut('fourth')
  expect(made.at(-1)).toEqual(['fourth'])
  end()
  await close()
})

it('payouts beyond those in flight follow without a pause, and one that comes meanwhile waits for its group', async () => {
  const { made, payOut, pass, end, close } = directCalls()
  const ids = Array.from({ length: 40 }, (_, index) => `${index}`)
  payOut(...ids)
  expect(made).toHaveLength(32)
  await pass(20)
  payOut('late')
  end()
  await pass(29)
  expect(made.flat()).toEqual(ids)
  await pass(1)
  expect(made.flat()).toEqual([...ids, 'late'])
  await close()
})

it('payouts that wait for their group when their process stops are left to others', async () => {
  const { made, released, payOut, pass, end, close } = directCalls()
  payOut('first')
  payOut('waiting')
  end()
  await close()
  await pass(60)
  expect([made, released]).toEqual([[['first']], ['waiting']])
})

it('a charge alone is announced after 5 ms, and those that come within 40 ms after a call began share one', async () => {
  const { made, announce, pass, end, close } = directCalls()
  await pass(0)
  announce('first')
  await pass(4)
  expect(made).toEqual([])
  await pass(1)
  expect(made).toEqual([['first']])
  await pass(10)
  announce('second')
  await pass(5)
  end()
  await pass(24)
  announce('third')
  expect(made).toHaveLength(1)
  await pass(1)
  expect(made).toEqual([['first'], ['second', 'third']])
  await pass(100)
  announce('fourth')
  await pass(4)
  expect(made).toHaveLength(2)
  await pass(1)
  expect(made.at(-1)).toEqual(['fourth'])
  await close()
})

it('charges that fill a call are announced without a pause', async () => {
  const { made, announce, pass, end, close } = directCalls()
  await pass(0)
  announce('first')
  await pass(5)
  announce(...Array.from({ length: 401 }, (_, index) => `${index}`))
  end()
  await pass(0)
  expect(made.map(({ length }) => length)).toEqual([1, 200, 200])
  await pass(100)
  expect(made.at(-1)).toEqual(['400'])
  await close()
})

it('the tasks of charges and payouts are deleted together, 500 ms after the first of them was accepted or at the end', async () => {
  const timers = createManualTimers()
  const statements: unknown[] = []
  let failure: Error | undefined
  const run = ({ name }: { name: string }, [ids, kind]: unknown[]) => {
    statements.push([name, kind, ids])
    return failure === undefined ? Promise.resolve(1) : Promise.reject(failure)
  }
  const accept = () => Promise.resolve()
  const backend = { announce: accept, withdraw: accept, payOut: accept } as unknown as Backend
  const { make, close } = startCallMaker({
    db: { run } as unknown as Database,
    log: silentLog,
    connectors: connectorsOf(new Map([['simulator', backend]]), 'simulator'),
    routing: () => routingOf([], 'simulator'),
    metrics: { fellBack: () => undefined },
    failRefund: () => Promise.reject(new Error('no refund was made')),
    linkKeys: fixedKeys(),
    timers,
  })
  await make([payoutOf('first')])
  await timers.advance(300)
  await make([payoutOf('second'), announcementOf('third')])
  await timers.advance(199)
  expect(statements).toEqual([])
  await timers.advance(1)
  const deleted = (kind: string, ...ids: string[]) => ['task_delete_done', kind, ids]
  expect(statements).toEqual([deleted('payout', 'first', 'second'), deleted('announce', 'third')])
  await make([payoutOf('last')])
  failure = new Failure('SERVICE_UNAVAILABLE', 'the database is gone')
  await close()
  expect(statements.at(-1)).toEqual(deleted('payout', 'last'))
})
