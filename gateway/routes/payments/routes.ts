// The /payments routes: translate requests for the payments service and its results into answers.
import { fingerprint } from '#core/identity/digest.ts'
import {
  type PaymentMessage,
  readPayment,
  renderCreated,
  renderDetails,
  renderStatus,
} from '#core/payment/snapshot.ts'
import { numberOf, paymentChannels, paymentMethods } from '#core/payment/words.ts'
import { checkPushUrl } from '#core/text/push-url.ts'
import type {
  CreatePaymentRequest,
  FeeTerms,
  NewPayee,
  NewPayer,
  PaymentUrls,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { knownFields } from '../../http/body/schema-fields.ts'
import { refusal, toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  invalidField,
  isEmpty,
  readAmount,
  readCurrency,
  readId,
  readPhone,
} from '../../http/validate.ts'
import { versionQuery } from '../schema-values.ts'
import {
  maxPayers,
  type PaymentRequestBody,
  paymentCancelBody,
  paymentRequestBody,
  paymentStatusQuery,
} from './schemas.ts'

// Messages are created with their type names: the library copies objects that have none.
type PaymentRequest = Omit<CreatePaymentRequest, 'projectId' | 'merchantId'>
type RequestInput = Input<unknown, PaymentRequestBody>

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfStatus = compileQuery(paymentStatusQuery, version)
const bodyOfRequest = compileCheck(paymentRequestBody, payersWithoutAmount)
const bodyOfCancel = compileCheck(paymentCancelBody)
// A repeat may come with a newer key of the same merchant.
const fingerprinted = knownFields(paymentRequestBody, ['api_key'])

/** POST /payments/request, GET /payments/status, POST /payments/cancel. */
export const paymentRoutes = [
  route({
    method: 'POST',
    path: '/payments/request',
    version,
    envelope: 'full',
    query: queryOfVersion,
    body: bodyOfRequest,
    read: readPaymentRequest,
    credential: { kind: 'api_key', of: ({ body }) => body.api_key },
    async operate(request, { services, settings, projectId, merchantId }) {
      const { payment } = await services.payments
        .createPayment({ ...request, projectId, merchantId }, withProject(projectId))
        .catch(toPublicError('transaction_request.'))
      const payment_details = renderCreated(viewOf(payment), settings.publicBaseUrl)
      const message = 'Payment request created successfully.'
      return { code: 200, message, fields: { payment_details } }
    },
  }),
  route({
    method: 'GET',
    path: '/payments/status',
    version,
    envelope: 'full',
    query: queryOfStatus,
    read: ({ query }) => query.payment_details_id,
    credential: { kind: 'api_key', of: ({ query }) => query.api_key },
    async operate(sentId, { services, projectId, merchantId }) {
      const paymentId = readId(sentId, 'PAYMENT_NOT_FOUND')
      const { payment } = await services.payments
        .getPayment(
          { $typeName: 'payweave.payments.v1.GetPaymentRequest', projectId, merchantId, paymentId },
          withProject(projectId),
        )
        .catch(toPublicError())
      const fields = renderStatus(viewOf(payment))
      return { code: 200, message: 'Payment status retrieved successfully.', fields }
    },
  }),
  route({
    method: 'POST',
    path: '/payments/cancel',
    version,
    envelope: 'full',
    query: queryOfVersion,
    body: bodyOfCancel,
    read: ({ body }) => body.payment_details_id,
    credential: { kind: 'api_key', of: ({ body }) => body.api_key },
    async operate(sentId, { services, settings, projectId, merchantId }) {
      const paymentId = readId(sentId, 'PAYMENT_NOT_FOUND')
      const request = { projectId, merchantId, paymentId }
      const { payment } = await services.payments
        .cancelPayment(request, withProject(projectId))
        .catch(toPublicError())
      const payment_details = renderDetails(viewOf(payment), settings.publicBaseUrl)
      return { code: 200, message: 'Payment request cancelled.', fields: { payment_details } }
    },
  }),
]

/** Reads the payment of an answer. Throws INTERNAL_ERROR for an answer without one. */
export function viewOf(payment: PaymentMessage | undefined) {
  if (payment === undefined) throw refusal('INTERNAL_ERROR')
  return readPayment(payment)
}

function readPaymentRequest({ body, originCountry, settings }: RequestInput): PaymentRequest {
  const { transaction_request: request } = body
  const currency = readCurrency(request.currency, 'transaction_request.currency')
  return {
    $typeName: 'payweave.payments.v1.CreatePaymentRequest',
    transactionId: request.id,
    amountMinor: readAmount(request.amount, currency, 'transaction_request.amount'),
    currency,
    description: request.description ?? '',
    fraudCheck: (request.fraud_check ?? body.fraud_check ?? 0) === 1,
    feeTerms: readFeeTerms(request.fees),
    payers: readPayers(request.payers, currency, originCountry),
    payees: readPayees(request.payees ?? [], currency, originCountry),
    urls: readUrls(request.urls ?? {}, settings.allowLoopback),
    requestFingerprint: fingerprint(fingerprinted(body)),
  }
}

type Fields = PaymentRequestBody['transaction_request']

function readFeeTerms(fees: Fields['fees']): FeeTerms {
  const { pays_fees = 0, payer_covers } = fees ?? {}
  const covers = payer_covers === undefined ? {} : { payerCoversPercent: payer_covers }
  return { $typeName: 'payweave.payments.v1.FeeTerms', paysFees: pays_fees === 1, ...covers }
}

function payerPath(index: number): string {
  return `transaction_request.payers[${index}]`
}

/** The amounts that several payers lack, also in a body that is refused for other reasons. */
function payersWithoutAmount(body: Record<string, unknown>): string[] {
  const request = body['transaction_request'] as { payers?: unknown } | null | undefined
  const payers = request?.payers
  if (!Array.isArray(payers) || payers.length < 2) return []
  return payers.slice(0, maxPayers).flatMap((payer: unknown, index) => {
    if (typeof payer !== 'object' || payer === null || Array.isArray(payer)) return []
    return isEmpty((payer as { amount?: unknown }).amount) ? [`${payerPath(index)}.amount`] : []
  })
}

function readPayers(payers: Fields['payers'], currency: string, country: string): NewPayer[] {
  return payers.map((payer, index) => {
    const path = payerPath(index)
    return {
      $typeName: 'payweave.payments.v1.NewPayer',
      mobileNumber: payer.mobile_number,
      mobileNumberE164: readPhone(payer.mobile_number, country, `${path}.mobile_number`),
      firstName: payer.first_name ?? '',
      lastName: payer.last_name ?? '',
      email: payer.email ?? '',
      paymentChannel: numberOf(paymentChannels, payer.payment_channel),
      paymentMethod: numberOf(paymentMethods, payer.payment_method),
      amountMinor:
        payer.amount === undefined ? 0n : readAmount(payer.amount, currency, `${path}.amount`),
    }
  })
}

function readPayees(
  payees: NonNullable<Fields['payees']>,
  currency: string,
  country: string,
): NewPayee[] {
  return payees.map((payee, index) => {
    const path = `transaction_request.payees[${index}]`
    return {
      $typeName: 'payweave.payments.v1.NewPayee',
      mobileNumber: payee.mobile_number,
      mobileNumberE164: readPhone(payee.mobile_number, country, `${path}.mobile_number`),
      amountMinor: readAmount(payee.amount, currency, `${path}.amount`),
      delayDays: payee.delay_days ?? 0,
    }
  })
}

function readUrls(urls: NonNullable<Fields['urls']>, allowLoopback: boolean): PaymentUrls {
  const { success = '', error = '', notify = '', callback = '' } = urls
  for (const [name, url] of Object.entries({ success, notify, error, callback })) {
    const problem = url === '' ? undefined : checkPushUrl(url, { allowLoopback })
    if (problem !== undefined) throw invalidField(`transaction_request.urls.${name}`, problem)
  }
  return { $typeName: 'payweave.payments.v1.PaymentUrls', success, error, notify, callback }
}
