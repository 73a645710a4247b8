// Logs: fields on the allow-list pass, everything else is dropped.
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { createLogger, type Logger } from './log.ts'

const requestId = '0192f3a4-5b6c-7d8e-9f00-112233445566'

/** Values that must never be seen, in the forms in which they occur. */
const canaries = {
  phone: '+12025550142',
  bareNumber: '12025550142',
  spacedPhone: '+1 (202) 555-0142',
  name: 'Ama Mensah',
  email: 'ama@example.com',
  sessionToken: 'pws_q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA',
  subscriptionKey: 'pwk_test_4fB7sKq9ZtXw2LmN8pRv3Hy',
  apiKey: '7Gh2kLm9QwErTy5UiOp3AsDf8ZxCvBn1',
  url: 'https://shop.example.com/hook?secret=1',
  body: '{"amount":"10.00"}',
}

function capture(use: (log: Logger) => void, context?: () => object): Record<string, unknown>[] {
  const lines: string[] = []
  const log = createLogger({
    part: 'payments',
    level: 'trace',
    destination: { write: (line) => lines.push(line) },
    ...(context === undefined ? {} : { context }),
  })
  use(log)
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** Pieces of the canaries that were found. */
function found(lines: unknown): string[] {
  const text = JSON.stringify(lines)
  return secretPieces.filter((piece) => text.includes(piece))
}

const secretPieces = [
  '5550142',
  '555-0142',
  'Ama',
  'ama@',
  'q83vEj',
  '4fB7sK',
  '7Gh2kL',
  'secret=1',
  '10.00',
]

describe('a log line', () => {
  it('a log line is JSON with time, level, part, message and the listed facts', () => {
    const [line] = capture((log) =>
      log.info(
        { requestId, status: 201, durationMs: 1.5, replayed: false, reason: 'TIMEOUT' },
        'done',
      ),
    )
    expect(line).toMatchObject({
      level: 'info',
      part: 'payments',
      msg: 'done',
      requestId,
      status: 201,
      durationMs: 1.5,
      replayed: false,
      reason: 'TIMEOUT',
    })
    expect(line?.['time']).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  })

  it('a log line has the fields of the current request', () => {
    const [line] = capture(
      (log) => log.info('done'),
      () => ({ requestId, phone: canaries.phone }),
    )
    expect(line).toMatchObject({ requestId, droppedFields: 1 })
  })

  it('a log line passes names of routes, RPCs, subjects, migrations and addresses', () => {
    const facts = {
      route: '/payment/request/:id',
      rpc: 'payweave.payments.v1.PaymentsService/CreatePayment',
      subject: 'pw.payments.event',
      migration: 'migrations/0001-create-payment-and-payer-tables.sql',
      origin: 'https://shop.example.com:8443',
      address: '127.0.0.1:7101',
      code: '40P01',
    } as const
    expect(capture((log) => log.info(facts, 'seen'))[0]).toMatchObject(facts)
  })

  it('a log line drops every field that is not listed', () => {
    const lines = capture((log) => {
      log.info(canaries as never, 'request')
      log
        .child(canaries as never)
        .child(canaries as never)
        .warn({ nested: canaries } as never, 'request')
      log.error({ requestId: canaries, route: [canaries.phone] } as never, 'request')
    })
    expect(found(lines)).toEqual([])
    expect(lines.map((line) => line['droppedFields'])).toEqual([10, 1, 2])
  })

  it('a log line drops a listed field whose value is a phone number, a token, a key or a URL', () => {
    const lines = capture((log) => {
      for (const [name, value] of Object.entries(canaries)) {
        if (name === 'name') continue
        for (const field of [
          'requestId',
          'keyId',
          'reason',
          'route',
          'subject',
          'address',
          'status',
        ]) {
          log.info({ [field]: value }, 'request')
        }
        log.info({ route: `/pay/${value}`, origin: `https://x.example.com/${value}` }, 'request')
      }
      log.info({ status: 12_025_550_142 }, 'request')
    })
    expect(found(lines)).toEqual([])
  })

  it('a log line scrubs numbers, tokens, addresses and queries out of a message', () => {
    const lines = capture((log) => {
      for (const [name, value] of Object.entries(canaries)) {
        if (name !== 'name' && name !== 'body') log.info(`failed for ${value} now`)
      }
      ;(log.info as (...all: unknown[]) => void)('failed for %s', canaries.name)
      ;(log.info as (...all: unknown[]) => void)({ requestId }, 'failed for %s', canaries.name)
    })
    expect(found(lines)).toEqual([])
  })

  it('a log line keeps an id in a message', () => {
    expect(capture((log) => log.info(`no payment ${requestId}`))[0]?.['msg']).toBe(
      `no payment ${requestId}`,
    )
  })
})

describe('an error in a log line', () => {
  it('an error in a log line is its type, code and frames, and never its message', () => {
    const error = Object.assign(new TypeError(`row ${Object.values(canaries).join(' ')}`), {
      code: '23505',
      constraint: 'payment_key',
      detail: `Key (phone)=(${canaries.phone}) exists`,
      query: canaries.body,
    })
    const [line] = capture((log) => log.error({ err: error }, 'failed'))
    expect(found(line)).toEqual([])
    expect(line?.['err']).toMatchObject({
      type: 'TypeError',
      code: '23505',
      constraint: 'payment_key',
      stack: expect.arrayContaining([expect.stringContaining('log.test.ts')]),
    })
  })

  it('an error in a log line keeps the message of a Failure, which is ours, and describes its cause', () => {
    const cause = new Error(canaries.phone)
    const [line] = capture((log) =>
      log.error({ err: new Failure('TIMEOUT', 'no answer', { cause }) }, 'failed'),
    )
    expect(found(line)).toEqual([])
    expect(line?.['err']).toMatchObject({
      type: 'Failure',
      reason: 'TIMEOUT',
      message: 'no answer',
      cause: { type: 'Error' },
    })
  })

  it('an error in a log line is safe as the first argument, as a string, and with lines that look like frames', () => {
    const lines = capture((log) => {
      ;(log.error as (...all: unknown[]) => void)(new Error(canaries.phone))
      ;(log.error as (...all: unknown[]) => void)(new Error(canaries.phone), 'failed')
      log.error({ err: canaries.name }, 'failed')
      log.error({ err: new Error(`x\n    at ${canaries.phone} (/a/b:1:1)\ny`) }, 'failed')
      log.error({ err: new Error('x', { cause: canaries }) }, 'failed')
    })
    expect(found(lines)).toEqual([])
  })
})
