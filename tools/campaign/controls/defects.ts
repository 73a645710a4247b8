// Defects that a campaign has to find, beside those of test/defects.
import type { Planted } from '../../../test/defects/defects.ts'

const payments = 'services/payments'
const delivery = 'services/delivery'
const ledger = 'services/accounts/ledger'

export const ofCampaign: readonly Planted[] = [
  {
    name: 'money that comes late is kept',
    file: `${payments}/domain/charge-report.ts`,
    find: "refundReceipt(draft, payer, payer.receiptId, 'late_receipt')",
    replace: 'touchPayer(draft, payer)',
  },
  {
    name: 'each callback has the number of the first',
    file: `${payments}/domain/transition.ts`,
    find: 'draft.payment.callbackSequence += 1',
    replace: 'draft.payment.callbackSequence = 1',
  },
  {
    name: 'a later callback has the earlier number',
    file: `${payments}/domain/transition.ts`,
    find: 'draft.payment.callbackSequence += 1',
    replace: "draft.payment.callbackSequence += draft.payment.state === 'paid' ? 2 : -1",
  },
  {
    name: 'a service that is away is answered as a bad gateway',
    file: 'core/errors/errors.ts',
    find: `  SERVICE_UNAVAILABLE: {
    http: 503,`,
    replace: `  SERVICE_UNAVAILABLE: {
    http: 502,`,
  },
  {
    name: 'a push is given up after its first failure',
    file: `${delivery}/domain/delivery.ts`,
    find: "if (baseS === undefined) return { state: 'exhausted' }",
    replace: "if (baseS === undefined || terms.failures === 0) return { state: 'exhausted' }",
  },
  {
    name: 'the event of a callback is refused by its consumer',
    file: `${delivery}/operations/event-intake.ts`,
    find: 'if (payment === undefined || event.occurredTime === undefined) {',
    replace:
      'if (payment === undefined || event.occurredTime === undefined || callbackSequence > 0) {',
  },
  {
    name: 'a process that ended is not started again',
    file: 'deploy/local/process/supervise.ts',
    find: 'await sleep(delayMs, undefined, { signal: stopping.signal })',
    replace: 'await sleep(3_600_000, undefined, { signal: stopping.signal })',
  },
  {
    name: 'the row of a settlement is lost',
    file: `${payments}/store/transition-store.ts`,
    find: 'eachOf(transitions, ({ settlements }) => settlements),',
    replace:
      "eachOf(transitions, ({ settlements }) => settlements.filter(({ kind }) => kind !== 'payout')),",
  },
  {
    name: 'a cancellation makes no event',
    file: `${payments}/operations/change.ts`,
    find: 'const event = transition && transitionEvent(transition, request.origin)',
    replace:
      "const event = transition?.fact?.kind === 'CANCELLED' ? undefined : transition && transitionEvent(transition, request.origin)",
  },
  {
    name: 'an event ends when the broker has it',
    file: 'platform/events/outbox.ts',
    find: '.filter(([, { consumers }]) => Object.keys(consumers).length === 0)',
    replace: '',
  },
  {
    name: 'the second notify of an event is dropped',
    file: `${delivery}/operations/event-intake.ts`,
    find: 'for (const notice of notices)',
    replace: 'for (const notice of notices.slice(0, 1))',
  },
  {
    name: 'the body of a push changes from attempt to attempt',
    file: `${delivery}/workers/dispatcher.ts`,
    find: `  const { url, body } = claimed
  const headers`,
    replace: `  const { url } = claimed
  const body = Buffer.concat([claimed.body, Buffer.alloc(claimed.number, ' ')])
  const headers`,
  },
  {
    name: 'each attempt of a push has another delivery id',
    file: `${delivery}/workers/dispatcher.ts`,
    find: "'PW-delivery-id': deliveryId,",
    replace: "'PW-delivery-id': `${deliveryId}-${number}`,",
  },
  {
    name: 'a payout is posted from the wrong account',
    file: `${ledger}/operations/settlement-transfer.ts`,
    find: "[SettlementKind.PAYOUT]: { debit: 'held', credit: 'clearing' },",
    replace: "[SettlementKind.PAYOUT]: { debit: 'suspense', credit: 'clearing' },",
  },
  {
    name: 'a transaction that fails keeps its use of the limit',
    file: `${ledger}/operations/movement.ts`,
    find: 'if (ended.hasLimit) await giveBackUse(tx, projectId, movementId)',
    replace: '',
  },
  {
    name: 'a transaction that fails keeps its hold',
    file: `${ledger}/operations/movement.ts`,
    find: 'if (ended.hasHold) await writeHoldReleased(tx, projectId, movementId)',
    replace: '',
  },
  {
    name: 'a used id of a transaction takes another body',
    file: 'services/institution/operations/transactions.ts',
    find: 'if (!digestsEqual(known.fingerprint, fingerprint)) {',
    replace: 'if (known.fingerprint.length === 0) {',
  },
  {
    name: 'a report that comes again counts again',
    file: `${payments}/operations/reports.ts`,
    find: 'if (reported.includes(outcome)) return {}',
    replace: '',
  },
  {
    name: 'a refused consent is called back as approved',
    file: 'services/accounts/customers/operations/registration.ts',
    find: "const approved = wanted === 'approved'",
    replace: "const approved = wanted !== 'lapsed'",
  },
  {
    name: 'a commit is answered before it is on disk',
    file: 'platform/db/startup.ts',
    find: "synchronous_commit: 'on',",
    replace: "synchronous_commit: 'off',",
  },
  {
    name: 'an answer leaves out its request id',
    file: 'gateway/http/envelope.ts',
    find: `    message,
    request_id: shown.requestId ? facts.requestId : undefined,`,
    replace: '    message,',
  },
  {
    name: 'a payment is not in the list before its end',
    file: `${payments}/store/list-store.ts`,
    find: 'where found.project_id = $1 and found.merchant_id = $2 and found.transaction_id = $8',
    replace:
      "where found.project_id = $1 and found.merchant_id = $2 and found.transaction_id = $8 and found.state <> 'Pending'",
  },
]
