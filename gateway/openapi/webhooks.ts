// The pushes that clients receive, in OpenAPI form.
import type { TSchema } from 'typebox'
import { callbackBody, notifyBody, onboardingBody } from '../routes/push-bodies.ts'
import { describedSchema, type JsonSchema } from './described-schema.ts'
import { type PushExample, pushExamples } from './push-examples.ts'

const atLeastOnce =
  'We retry it until you respond with 2xx, so it can arrive twice and out of order: `PW-delivery-id` identifies a repeat. Respond within 15 seconds. 410 ends the pushes about this request to this URL. We do not follow redirects.'
const noSignature =
  'It has no signature: treat it as a hint and confirm it with `GET /payments/status`.'

/** Headers of every push. */
const identifiers = [
  header(
    'PW-delivery-id',
    'Identifies a repeat of this push, not of the payment: the same on every attempt, also when it is resent.',
    { type: 'string', format: 'uuid' },
  ),
  header(
    'PW-delivery-attempt',
    'Number of the attempt: 1, 2, … The count continues when the push is resent.',
    { type: 'string', pattern: '^[1-9][0-9]*$' },
  ),
  header(
    'PW-event-id',
    'Identifies the event that the push is about. Pushes of one event to several URLs share it.',
    { type: 'string', format: 'uuid' },
  ),
]
const paymentIdentifiers = [
  ...identifiers,
  header('PW-payment-details-id', 'The `payment_details.id` of the payment request.', {
    type: 'string',
  }),
]

/** All pushes; they belong to the contract of 2024-10-01. */
export const webhooks: Record<string, JsonSchema> = {
  notify: {
    post: push('paymentNotify', 'One step of a payment request', notifyBody, {
      description: `POST to \`transaction_request.urls.notify\`. ${atLeastOnce} ${noSignature}`,
      parameters: paymentIdentifiers,
      examples: pushExamples.notify,
    }),
  },
  callback: {
    post: push(
      'paymentCallback',
      'A payment request that has ended or was refunded',
      callbackBody,
      {
        description: `POST to \`transaction_request.urls.callback\`. ${atLeastOnce} ${noSignature}`,
        parameters: paymentIdentifiers,
        examples: pushExamples.callback,
      },
    ),
  },
  onboarding: {
    post: push('accountCallback', 'An onboarding or registration has ended', onboardingBody, {
      description: `Signed POST to the \`callback_url\` of \`POST /account/personal_account\` and \`POST /account/register_account\`. ${atLeastOnce}`,
      parameters: [
        ...identifiers,
        header(
          'pw-signature',
          '`t=<unix seconds>,v1=<hex>`: HMAC-SHA-256 over `t`, a full stop and the raw body, keyed with the signing secret; a second `v1` during a rotation. Allow 300 seconds.',
          { type: 'string', pattern: '^t=[1-9][0-9]{0,11}(,v1=[0-9a-f]{64}){1,8}$' },
        ),
        header(
          'authorisation-token',
          'The `authorisation_token` of the request, sealed under the shared key of the institution: base64 of the byte 1, key id, nonce, AES-256-GCM ciphertext and tag, with `authorisation-token` as associated data.',
          { type: 'string' },
        ),
      ],
      examples: pushExamples.onboarding,
    }),
  },
}

function header(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: 'header', required: true, description, schema }
}

type PushWords = { description: string; parameters: JsonSchema[]; examples: PushExample[] }

function push(
  operationId: string,
  summary: string,
  body: TSchema,
  { examples, ...more }: PushWords,
): JsonSchema {
  const shown = examples.map(({ name, says, body: text }) => [
    name,
    { summary: says, value: JSON.parse(text) as unknown },
  ])
  return {
    operationId,
    summary,
    ...more,
    security: [],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: describedSchema(body, 'push'),
          examples: Object.fromEntries(shown),
        },
      },
    },
    responses: { '2XX': { description: 'Accepted; it is not sent again.' } },
  }
}
