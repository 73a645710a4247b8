// Shows which pushes a payment event makes, and that they stay the same.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { NoticeKind } from '#gen/payweave/payments/v1/payment_event_pb.js'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { deliveriesOf } from '../../services/delivery/operations/event-intake.ts'
import { eventually } from '../support/eventually.ts'
import { createdEvent, occurredAt } from './event.ts'
import { startHarness } from './harness.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const urls = { notify: 'https://m.example/notify?k=1', callback: 'https://m.example:8443/callback' }

describe('an event', () => {
  it('an event makes a notify for each notice and a callback when it has a number', () => {
    const pushes = deliveriesOf(createdEvent({ ...urls, payers: 2, callbackSequence: 3 }))
    expect(pushes.map(({ kind, url, origin }) => [kind, url, origin])).toEqual([
      ['notify', urls.notify, 'https://m.example'],
      ['notify', urls.notify, 'https://m.example'],
      ['callback', urls.callback, 'https://m.example:8443'],
    ])
    expect(new Set(pushes.map(({ deliveryId }) => deliveryId)).size).toBe(3)
    expect(pushes.every(({ subjectId }) => subjectId === 'payment-1')).toBe(true)
  })

  it('an event makes nothing for a URL that the request does not have', () => {
    expect(deliveriesOf(createdEvent({ callbackSequence: 1 }))).toEqual([])
    const callbackOnly = createdEvent({ callback: urls.callback, callbackSequence: 1 })
    expect(deliveriesOf(callbackOnly).map(({ kind }) => kind)).toEqual(['callback'])
    expect(deliveriesOf(createdEvent({ callback: urls.callback }))).toEqual([])
  })

  it('an event makes the same ids and bytes however often it comes', () => {
    const event = createdEvent({ ...urls, callbackSequence: 1 })
    expect(deliveriesOf(structuredClone(event))).toEqual(deliveriesOf(event))
  })

  it('an event is rendered as the contract says', () => {
    const event = createdEvent({ ...urls, callbackSequence: 1 })
    const [notify, callback] = deliveriesOf(event).map(({ body }) => body.toString())
    expect(notify).toContain('"amount":100.50')
    expect(JSON.parse(notify ?? '')).toMatchObject({
      event_type: 'payment_initiated',
      transaction_id: 'order 7',
      status: 'INITIATED',
      timestamp: occurredAt.toISOString(),
      payer: { name: 'Ama Mensah', amount: 100.5, currency: 'USD' },
    })
    expect(JSON.parse(callback ?? '')).toMatchObject({
      status: 'Pending',
      sequence: 1,
      timestamp: occurredAt.toISOString(),
      transaction_request: { id: 'order 7', status: 'pending' },
      payments_status: { paid: '0.00 USD', remaining: '100.50 USD' },
    })
  })

  it.each([
    ['bytes that are no message', () => ({ payload: new Uint8Array([255, 255, 255]) })],
    ['no payment', () => ({ payload: new Uint8Array() })],
    ['no time', () => ({ occurredTime: undefined })],
  ])('an event with %s is poison', (_what, change) => {
    const event = Object.assign(createdEvent(urls), change())
    expect(() => deliveriesOf(event)).toThrow(UnprocessableEvent)
  })

  it.each([
    ['a project that is no UUID', createdEvent({ ...urls, projectId: 'demo' })],
    ['no project', createdEvent({ ...urls, projectId: '' })],
    ['a payment id that fits no header', createdEvent({ ...urls, paymentId: 'p\r\n1' })],
    ['no payment id', createdEvent({ ...urls, paymentId: '' })],
    ['an invalid URL', createdEvent({ notify: 'not a URL' })],
    ['a URL that no table keeps', createdEvent({ notify: 'https://m.example/\0' })],
    ['a URL that is too long', createdEvent({ notify: `https://m.example/${'a'.repeat(2_031)}` })],
  ])('an event with %s is poison: no repeat would help', (_what, event) => {
    expect(() => deliveriesOf(event)).toThrow(UnprocessableEvent)
  })

  it.each([
    ['of a kind that is not known', { kind: NoticeKind.UNSPECIFIED, payerIndex: 0 }],
    ['about nobody', { kind: NoticeKind.PAYMENT_FAILED, payerIndex: 7 }],
  ])('an event with a notice %s is poison', (_what, notice) => {
    expect(() => deliveriesOf(createdEvent({ ...urls, notices: [notice] }))).toThrow(
      UnprocessableEvent,
    )
  })
})

describe('intake', () => {
  let harness: Awaited<ReturnType<typeof startHarness>>
  let receiver: Receiver
  beforeAll(async () => {
    harness = await startHarness()
    receiver = await startReceiver()
  })
  afterEach(() => harness.reset())
  afterAll(async () => {
    await receiver.close()
    await harness.drop()
  })

  it('intake stores the pushes once, and they are sent with their frozen bytes', async () => {
    const { url } = receiver
    const event = createdEvent({ notify: url, callback: url, payers: 20, callbackSequence: 1 })
    await harness.takeIn(event)
    await harness.takeIn(event)
    harness.worker()
    await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(21))
    await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(21))
    const sent = new Set(receiver.requests.map(({ body }) => body))
    expect(sent).toEqual(new Set(deliveriesOf(event).map(({ body }) => body.toString())))
    expect(receiver.requests).toHaveLength(21)
  })

  it('a push to an address that is not public is stored, blocked at its attempt and visible', async () => {
    const projectId = randomUUID()
    const event = createdEvent({ projectId, notify: 'https://10.0.0.1/hook' })
    await harness.takeIn(event)
    harness.worker()
    await eventually(async () => expect(await harness.count("state <> 'pending'")).toBe(1))
    await eventually(async () => expect(await harness.count("state <> 'sending'")).toBe(1))
    expect(await harness.count("state = 'blocked'")).toBe(1)
  })
})
