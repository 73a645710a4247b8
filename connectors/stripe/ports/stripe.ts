// Calls Stripe by its official library. Every answer is mapped to what it proves; without a usable answer a call rejects.
import { Stripe } from 'stripe'
import type { ProviderMovements } from '../../kit/domain/reconcile.ts'
import type { IntentState } from '../domain/intent.ts'
import type { RefundState } from '../domain/refund.ts'
import { readBalance } from './balance.ts'

/** Stripe has refused a request, which changed nothing. */
export type Rejection = { rejected: string }

/** Money from a payer's card. */
export type IntentOrder = {
  attemptId: string
  chargeId: string
  /** In Stripe's units. */
  amount: number
  /** ISO 4217 code. */
  currency: string
  /** The merchant's name, for the account's dashboard. */
  name: string
}

/** Money back to the card of a PaymentIntent. */
export type RefundOrder = { reference: string; intentId: string; amount: number }

/**
 * The calls. Each rejects with StripeFailure when Stripe did not answer, or answered that it failed: then the request may or may
 * not have been executed. `key` is an idempotency key.
 */
export type StripeCalls = {
  /** Creates a PaymentIntent, which charges nothing before it is confirmed. */
  create(order: IntentOrder, key: string): Promise<IntentState | Rejection>
  /** Charges the card of a ConfirmationToken, which Stripe.js has made of the payer's entries. */
  confirm(intentId: string, token: string, key: string): Promise<IntentState | Rejection>
  enquire(intentId: string): Promise<IntentState>
  /** Cancels for ever; the state that Stripe answers with when it is too late. */
  cancel(intentId: string, key: string): Promise<IntentState>
  /** What Stripe.js needs to show the bank's questions to the payer. Never stored or logged. */
  clientSecret(intentId: string): Promise<string | undefined>
  refund(order: RefundOrder, key: string): Promise<RefundState | Rejection>
  enquireRefund(refundId: string): Promise<RefundState>
  /**
   * Looks for a refund by our reference among those of its PaymentIntent; undefined when Stripe does not list it. Passes over those
   * that are `unfunded`.
   */
  findRefund(order: Pick<RefundOrder, 'reference' | 'intentId'>): Promise<RefundState | undefined>
  /** What has moved on the account in the time from `from` to before `to`. */
  movements(from: Date, to: Date): Promise<ProviderMovements>
}

/** No response, or one that leaves the outcome of the request unknown. Names status and code only. */
export class StripeFailure extends Error {
  override readonly name = 'StripeFailure'
  /** Stripe answers the same idempotency key so for a day. */
  readonly isRepeated: boolean

  constructor(status: number | undefined, code: string | undefined) {
    super(`Stripe answered ${status ?? 'nothing'} ${code ?? 'without a code'}`)
    this.isRepeated = status !== undefined && status >= 500
  }
}

/** Maximum time of a call: banks can be slow. Each try of a piece of work makes one, within its lease of 10 s. */
const timeoutMs = 8_000
const metadataOf = { attempt: 'payweave_attempt', charge: 'payweave_charge' } as const
const refundMetadata = 'payweave_refund'
const balanceNames = { attempt: metadataOf.attempt, refund: refundMetadata }
/** Stripe's upper limit of a page. */
const pageSize = 100
/** Codes go to logs: they have no other characters. */
const codePattern = /^[a-z0-9_]{1,80}$/

/** The client of one account at `baseUrl`, in the API version that the library is made for. */
export function stripeAt(baseUrl: string, secretKey: string): StripeCalls {
  const { hostname, port, protocol } = new URL(baseUrl)
  const isPlain = protocol === 'http:'
  const stripe = new Stripe(secretKey, {
    host: hostname,
    port: port || (isPlain ? 80 : 443),
    protocol: isPlain ? 'http' : 'https',
    timeout: timeoutMs,
    // The worker repeats, with what it has stored.
    maxNetworkRetries: 0,
    telemetry: false,
  })
  const { paymentIntents, refunds } = stripe
  return {
    create: ({ attemptId, chargeId, amount, currency, name }, idempotencyKey) =>
      intentCall(() =>
        paymentIntents.create(
          {
            amount,
            currency: currency.toLowerCase(),
            allowed_payment_method_types: ['card'],
            description: name,
            metadata: { [metadataOf.attempt]: attemptId, [metadataOf.charge]: chargeId },
          },
          { idempotencyKey },
        ),
      ),
    confirm: (intentId, token, idempotencyKey) =>
      intentCall(() =>
        paymentIntents.confirm(
          intentId,
          { confirmation_token: token, use_stripe_sdk: true },
          { idempotencyKey },
        ),
      ),
    enquire: (intentId) => known(intentCall(() => paymentIntents.retrieve(intentId))),
    cancel: (intentId, idempotencyKey) =>
      known(intentCall(() => paymentIntents.cancel(intentId, {}, { idempotencyKey }))),
    async clientSecret(intentId) {
      const intent = await answered(() => paymentIntents.retrieve(intentId))
      if ('rejected' in intent || intent.status !== 'requires_action') return undefined
      return intent.client_secret ?? undefined
    },
    async refund({ reference, intentId, amount }, idempotencyKey) {
      const metadata = { [refundMetadata]: reference }
      const refund = await answered(() =>
        refunds.create({ payment_intent: intentId, amount, metadata }, { idempotencyKey }),
      )
      return 'rejected' in refund ? refund : refundState(refund)
    },
    enquireRefund: async (refundId) =>
      refundState(await known(answered(() => refunds.retrieve(refundId)))),
    async findRefund({ reference, intentId }) {
      const list = { payment_intent: intentId, limit: pageSize }
      const { data } = await known(answered(() => refunds.list(list)))
      return data
        .filter(({ metadata }) => metadata?.[refundMetadata] === reference)
        .map(refundState)
        .find(({ status }) => status !== 'unfunded')
    },
    movements: (from, to) => known(answered(() => readBalance(stripe, balanceNames, { from, to }))),
  }
}

/** Whether the library takes the signature of a webhook: by this secret, of these bytes, and not older than the tolerance. */
export function isSignedByStripe(
  header: string,
  body: Uint8Array,
  secret: string,
  toleranceS: number,
): boolean {
  try {
    Stripe.webhooks.constructEvent(Buffer.from(body), header, secret, toleranceS)
    return true
  } catch {
    return false
  }
}

/** What an event is about: our references in the metadata of its object, as `create` and `refund` write them. */
export function referencesOf(metadata: Readonly<Record<string, unknown>>) {
  return { charge: metadata[metadataOf.charge], refund: metadata[refundMetadata] }
}

/** Calls, and returns what Stripe answered or a refusal of the request. */
async function answered<T extends object>(ask: () => Promise<T>): Promise<T | Rejection> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error
    const { statusCode, type } = error
    // The library sets the decline code of each 402, also to an empty text.
    const code = codeOf(error.decline_code || error.code || messageCodeOf(error))
    const isRefused = statusCode === 400 || statusCode === 402 || statusCode === 404
    // Stripe's library counts 400 with the code rate_limit among the rate limits, which refuse the call and not what it is for.
    const isOfCall = type === 'StripeIdempotencyError' || type === 'StripeRateLimitError'
    if (isRefused && !isOfCall)
      return { rejected: code ?? (error.param === 'amount' ? 'invalid_amount' : 'invalid_request') }
    // The library's own error has the key's last characters and the request in it.
    throw new StripeFailure(statusCode, code)
  }
}

/** Like `answered`, but for an answer that has the PaymentIntent in its error: a declined card, or a state that does not allow it. */
async function intentCall(
  ask: () => Promise<Stripe.PaymentIntent>,
): Promise<IntentState | Rejection> {
  let refused: Stripe.PaymentIntent | undefined
  const intent = await answered(async () => {
    try {
      return await ask()
    } catch (error) {
      if (error instanceof Stripe.errors.StripeError) refused = error.payment_intent
      throw error
    }
  })
  if (!('rejected' in intent)) return intentState(intent)
  return refused === undefined ? intent : intentState(refused)
}

/** The answer to a question that cannot be refused: a refusal, for example 404 by a key of another mode, says nothing. */
async function known<T extends object>(asked: Promise<T | Rejection>): Promise<T> {
  const answer = await asked
  if ('rejected' in answer) throw new StripeFailure(400, answer.rejected)
  return answer
}

const statuses: Readonly<Record<string, IntentState['status']>> = {
  requires_confirmation: 'unpaid',
  requires_action: 'action',
  succeeded: 'succeeded',
  canceled: 'canceled',
}

/** A status that Stripe adds later is `pending`: it proves nothing. */
function intentState(intent: Stripe.PaymentIntent): IntentState {
  const { id, status, last_payment_error: error, amount_received: amountReceived } = intent
  const failure = codeOf(error?.decline_code ?? error?.code)
  const isUncharged = status === 'requires_payment_method'
  // The document does not say that Stripe always sends it.
  const unpaid = error ? 'failed' : 'unpaid'
  return {
    intentId: id,
    status: isUncharged ? unpaid : (statuses[status] ?? 'pending'),
    failure,
    amountReceived,
  }
}

/** Reasons of a failed refund: https://docs.stripe.com/api/refunds/object#refund_object-failure_reason. */
function refundState({ id, status, failure_reason: reason }: Stripe.Refund): RefundState {
  if (status === 'succeeded') return { refundId: id, status }
  if (status === 'failed' && reason === 'insufficient_funds')
    return { refundId: id, status: 'unfunded' }
  const hasFailed = status === 'failed' || status === 'canceled'
  return { refundId: id, status: hasFailed ? 'failed' : 'pending' }
}

/** A code that Stripe sends in some answers without `code`; the library does not declare it. */
function messageCodeOf({ raw }: Stripe.errors.StripeError): string | undefined {
  const { message_code: code } = raw as { message_code?: unknown }
  return typeof code === 'string' ? code : undefined
}

function codeOf(value: string | undefined): string | undefined {
  return value !== undefined && codePattern.test(value) ? value : undefined
}
