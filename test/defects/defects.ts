// Defects that a test must find: each is one change of the source, and the test that has to fail with it.

/** One change of the source. */
export type Planted = {
  /** What the product does wrong with it. */
  name: string
  file: string
  /** Occurs once in the file. */
  find: string
  replace: string
}

/** One planted defect, with the test file that fails with it. */
export type Defect = Planted & { foundBy: string }

const inbox = 'platform/events'
const payments = 'services/payments/domain'
const delivery = 'services/delivery'
const ledger = 'services/accounts/ledger/store'
const model = {
  payments: 'test/system/model/payments.test.ts',
  bills: 'test/system/model/bills.test.ts',
}

/** All of them. */
export const defects: readonly Defect[] = [
  {
    name: 'a refund leaves out all payers but the first',
    file: `${payments}/request-end.ts`,
    find: `movePayment(draft, 'refund')
  for (const payer of draft.payment.payers) {`,
    replace: `movePayment(draft, 'refund')
  for (const payer of draft.payment.payers.slice(0, 1)) {`,
    foundBy: model.payments,
  },
  {
    name: 'a request that ends keeps the money of those who paid',
    file: `${payments}/request-end.ts`,
    find: "if (payer.state === 'paid') {",
    replace: "if (payer.state === 'paid' && step === 'cancel') {",
    foundBy: model.payments,
  },
  {
    name: 'callbacks skip a number',
    file: `${payments}/transition.ts`,
    find: 'draft.payment.callbackSequence += 1',
    replace: 'draft.payment.callbackSequence += 2',
    foundBy: model.payments,
  },
  {
    name: 'a merchant reads the payments of others',
    file: 'services/payments/operations/payments.ts',
    find: 'payment.merchantId !== key.merchantId) throw notFound()',
    replace: "payment.merchantId === '') throw notFound()",
    foundBy: 'test/payments/lists.test.ts',
  },
  {
    name: 'a used transaction id takes another body',
    file: 'services/payments/operations/payments.ts',
    find: 'if (!digestsEqual(earlier.fingerprint, Buffer.from(request.fingerprint))) {',
    replace: 'if (earlier.fingerprint.length === 0) {',
    foundBy: model.payments,
  },
  {
    name: 'a payer who is paying does not keep the request from being cancelled',
    file: `${payments}/request-end.ts`,
    find: "if (payment.state !== 'Pending' || !isUntouched) {",
    replace: "if (payment.state !== 'Pending' || isUntouched === undefined) {",
    foundBy: 'test/payments/end.test.ts',
  },
  {
    name: 'money that comes a second time is kept',
    file: `${payments}/charge-report.ts`,
    find: "refundReceipt(draft, payer, receiptId, 'duplicate_receipt')",
    replace: 'touchPayer(draft, payer)',
    foundBy: 'services/payments/domain/transition.test.ts',
  },
  {
    name: 'a used key of a bill pays another bill',
    file: 'services/billing/operations/pay.ts',
    find: 'if (!known.fingerprint.equals(order.fingerprint)) {',
    replace: 'if (known.fingerprint.length === 0) {',
    foundBy: model.bills,
  },
  {
    name: 'the float pays a bill that the biller refused',
    file: 'services/billing/ports/ledger.ts',
    find: `async release({ billPaymentId, projectId }, timeoutMs) {
      const options = optionsOf(projectId, timeoutMs)
      await client.voidHold({ projectId, holdId: billPaymentId }, options)`,
    replace: `async release({ billPaymentId, projectId, amountMinor, currency }, timeoutMs) {
      const options = optionsOf(projectId, timeoutMs)
      const postings = [
        { address: floatOf(projectId), amount: { currency, minorUnits: -amountMinor } },
        { address: billerClearing, amount: { currency, minorUnits: amountMinor } },
      ]
      await client.postHold({ projectId, holdId: billPaymentId, postings }, options)`,
    foundBy: model.bills,
  },
  {
    name: 'a released hold stays in the held balance',
    file: `${ledger}/hold-store.ts`,
    find: 'update ledger_account a set held_minor = a.held_minor - c.amount_minor',
    replace: 'update ledger_account a set held_minor = a.held_minor',
    foundBy: 'test/ledger/holds.test.ts',
  },
  {
    name: 'a transfer is posted twice to its balances',
    file: `${ledger}/posting-store.ts`,
    find: 'set posted_minor = a.posted_minor + c.posted_minor,',
    replace: 'set posted_minor = a.posted_minor + 2 * c.posted_minor,',
    foundBy: 'test/ledger/transfers.test.ts',
  },
  {
    name: 'a hold is posted for more than it keeps back',
    file: `${ledger}/hold-store.ts`,
    find: 'and d.delta_minor < 0 and h.amount_minor >= -d.delta_minor',
    replace: 'and d.delta_minor < 0',
    foundBy: 'test/ledger/holds.test.ts',
  },
  {
    name: 'a limit counts the last movement alone',
    file: `${ledger}/limit-store.ts`,
    find: 'do update set used_minor = u.used_minor + excluded.used_minor',
    replace: 'do update set used_minor = excluded.used_minor',
    foundBy: 'test/ledger/limits.test.ts',
  },
  {
    name: 'a session that is spent runs a second transaction',
    file: `${ledger}/movement-store.ts`,
    find: 'where s.session_id = k.session_id and s.single_use and s.consumed_by is null',
    replace: 'where s.session_id = k.session_id and s.single_use',
    foundBy: 'test/ledger/movements.test.ts',
  },
  {
    name: 'a quote is executed by two movements',
    file: 'services/quotes/domain/quote.ts',
    find: "const isHeld = quote.state !== 'open' && quote.movementId !== execution.movementId",
    replace: "const isHeld = quote.state === 'used' && quote.isExpired",
    foundBy: 'test/quotes/execute.test.ts',
  },
  {
    name: 'an exchange rounds in favour of the customer',
    file: 'core/money/exchange.ts',
    find: 'const rounded = numerator / denominator\n',
    replace: 'const rounded = (numerator + denominator - 1n) / denominator\n',
    foundBy: 'core/money/exchange.test.ts',
  },
  {
    name: 'a worker whose lease was lost records its outcome',
    file: `${delivery}/store/complete-store.ts`,
    find: "(delivery.state = 'sending' and delivery.lease_token = result.lease_token)",
    replace: "(delivery.state = 'sending')",
    foundBy: 'test/delivery/crash.test.ts',
  },
  {
    name: 'a push whose lease has run out is never sent again',
    file: `${delivery}/store/lease-store.ts`,
    find: 'lease_until between clock_now()',
    replace: 'lease_until is null and lease_until between clock_now()',
    foundBy: 'test/delivery/crash.test.ts',
  },
  {
    name: 'an event is taken in without its pushes',
    file: `${delivery}/store/intake-store.ts`,
    find: 'where (event_id in (select taken.event_id from taken)) is true',
    replace: 'where (event_id in (select taken.event_id from taken)) is null',
    foundBy: 'test/delivery/intake.test.ts',
  },
  {
    name: 'a receiver that answers 410 is called again',
    file: `${delivery}/domain/delivery.ts`,
    find: "if (end.status === 410) return { state: 'gone' }",
    replace: "if (end.status === 411) return { state: 'gone' }",
    foundBy: 'test/delivery/delivery.test.ts',
  },
  {
    name: 'a push goes to a private address',
    file: `${delivery}/ports/egress.ts`,
    find: 'if (isPublicAddress(ip)) return true',
    replace: 'if (isAddress(ip)) return true',
    foundBy: 'test/delivery/egress.test.ts',
  },
  {
    name: 'an event ends when the first of its consumers has confirmed it',
    file: `${inbox}/confirmation-store.ts`,
    find: 'where n.subject = o.subject and n.consumer <> $3::text and not exists (',
    replace: 'where n.subject is null and n.consumer <> $3::text and not exists (',
    foundBy: 'test/events/delivery.test.ts',
  },
  {
    name: 'an event that the broker refused counts as published',
    file: `${inbox}/publisher.ts`,
    find: 'const published = batch.filter((_, index) => errors[index] === undefined)',
    replace: 'const published = batch.filter((_, index) => index < errors.length)',
    foundBy: 'test/events/loss.test.ts',
  },
  {
    name: 'waiting pushes are claimed newest first',
    file: `${delivery}/store/claim-store.ts`,
    find: 'order by next_attempt_at limit $',
    replace: 'order by next_attempt_at desc limit $',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'an event ends though its consumer has not seen it',
    file: `${inbox}/confirmer.ts`,
    find: 'if (state !== InboxState.SEEN) seen.delete(id)',
    replace: 'if (state === InboxState.POISONED) seen.delete(id)',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a push is posted before its attempt is recorded',
    file: `${delivery}/workers/intake.ts`,
    find: `const stored = await storeEvents(db, { eventIds, pushes, ...reserved })
      begin(stored.startedAt)`,
    replace: `begin(new Map(pushes.map(({ deliveryId }) => [deliveryId, new Date()])))
      const stored = await storeEvents(db, { eventIds, pushes, ...reserved })`,
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a biller that may have been called counts as not called',
    file: 'services/billing/operations/pay.ts',
    find: 'if (wasNotSent(error)) throw error\n    log.warn',
    replace: 'if (error instanceof Error) throw error\n    log.warn',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a hold that may still come counts as released',
    file: 'services/billing/operations/abandon.ts',
    find: `const isMade = await ledger.hold(hold).catch((error: unknown) => {
    if (isPastExpiry(error)) return false
    throw error
  })
  if (!isMade) return false
  await ledger.release(hold)`,
    replace: 'await ledger.release(hold).catch(() => undefined)',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'the answers of a batch go to the wrong callers',
    file: 'platform/db/batcher.ts',
    find: 'const answer = answers[index] as',
    replace: 'const answer = answers[answers.length - 1 - index] as',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a wallet call without an answer counts as not made',
    file: 'services/payments/operations/checkout.ts',
    find: `    await enquireAfter(db, attemptId, firstEnquiryMs)
    return 'processing'`,
    replace: `    await reportCharge(payments, payerId, { attemptId, outcome: 'unknown', paymentMethod: undefined })
    return 'processing'`,
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'each call of a refund has an id of its own',
    file: 'services/payments/workers/calls.ts',
    find: 'await backend.refund({ id: call.subjectId, ...call })',
    replace: 'await backend.refund({ ...call, id: crypto.randomUUID() })',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a call to a connector without an answer is not repeated',
    file: 'services/payments/workers/calls.ts',
    find: 'if (left.length > 0) await postponeTasks(db, ofKind(left), failed)',
    replace: 'if (left.length > 0) await markDone(db, ofKind(left))',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a charge that a connector may have goes to another one',
    file: 'services/payments/workers/calls.ts',
    find: "if (wasNotSent(error)) return 'unsent'",
    replace: "if (wasNotSent(error) || !isRefusal(error)) return 'unsent'",
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'the ledger posts only the first settlement of an event',
    file: 'services/accounts/ledger/workers/settlement-consumer.ts',
    find: 'for (const settlement of settlementsOf(event)) {',
    replace: 'for (const settlement of settlementsOf(event).slice(0, 1)) {',
    foundBy: 'test/simulation/simulation.test.ts',
  },
  {
    name: 'a signature does not cover its time',
    file: 'core/identity/seal.ts',
    find: '.update(`${unixS}.`)\n',
    replace: ".update(unixS > 0 ? '.' : '')\n",
    foundBy: 'core/identity/seal.test.ts',
  },
]
