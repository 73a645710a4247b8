// Tests that the subject of an event follows from its consumers, not from its writer.
import { expect, it } from 'vitest'
import { draftPayment, type NewPayment, toPayment } from '../domain/new-payment.ts'
import { begin, type Draft, finish, settle } from '../domain/transition.ts'
import { creationEvent, transitionEvent } from './events.ts'

const now = new Date('2026-01-01T00:00:00.000Z')
const terms = {
  feeSchedule: {
    cardProcessingPercent: '2.90',
    platformProcessingPercent: '0.50',
    agentProcessingPercent: '1.00',
    conveniencePercent: '0',
  },
  timesToPayS: { agent: 259_200, direct_pos: 900, payment_link: 86_400 },
  linkKeyId: 'a1b2c3d4',
}
const merchant = { merchantId: 'm', businessName: 'Demo Store', mobileNumber: '+12025550199' }

function draftOf(urls: Partial<NewPayment['urls']>) {
  const request: NewPayment = {
    projectId: 'p',
    merchantId: 'm',
    transactionId: 't',
    amountMinor: 100n,
    currency: 'USD',
    description: '',
    fraudCheck: false,
    feeTerms: { paysFees: false, payerCoversPercent: 60 },
    payers: [
      {
        mobileNumber: '1',
        mobileNumberE164: '+12025550100',
        firstName: '',
        lastName: '',
        email: '',
        paymentChannel: 'payment_link',
        paymentMethod: 'card',
        amountMinor: 100n,
      },
    ],
    payees: [],
    urls: { success: 'https://shop.example/paid', error: '', notify: '', callback: '', ...urls },
    fingerprint: new Uint8Array(32),
  }
  return draftPayment(request, merchant, terms)
}

const notify = 'https://shop.example/notify'
const callback = 'https://shop.example/callback'

const informed = { notices: [{ kind: 'payment_initiated' as const, index: 0 }] }
const calledBack = { callbackSequence: 1 }

it.each([
  ['no URL for pushes', {}, { ...informed, ...calledBack }, 'pw.payments.event.unaddressed'],
  ['a notify URL and a notice', { notify }, informed, 'pw.payments.event'],
  ['a notify URL and no notice', { notify }, calledBack, 'pw.payments.event.unaddressed'],
  ['a callback URL and a callback', { callback }, calledBack, 'pw.payments.event'],
  ['a callback URL and no callback', { callback }, informed, 'pw.payments.event.unaddressed'],
  ['both URLs and a callback', { notify, callback }, calledBack, 'pw.payments.event'],
  ['both URLs and nothing to push', { notify, callback }, {}, 'pw.payments.event.unaddressed'],
])(
  'the event of a request with %s has the subject of its consumers',
  (_, urls, pushes, subject) => {
    const draft = draftOf(urls)
    const fact = { kind: 'CREATED' as const, notices: [], callbackSequence: 0, ...pushes }
    expect(creationEvent(draft, fact).subject).toBe(subject)
    expect(transition(() => undefined)).toBe(subject)
    const moved = transition((made) => settle(made, { kind: 'fee', amountMinor: 1n }))
    expect(moved).toBe('pw.payments.settled')

    function transition(change: (made: Draft) => unknown) {
      const made = begin(toPayment(draft, now), now)
      made.notices.push(...fact.notices)
      change(made)
      const callback = fact.callbackSequence > 0 ? 'callback' : 'none'
      return transitionEvent(finish(made, 'CANCELLED', callback), undefined)?.subject
    }
  },
)
