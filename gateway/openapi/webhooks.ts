// The pushes that clients receive, as OpenAPI tells them; it must not render or send one.
import type { TSchema } from 'typebox'
import { callbackBody, notifyBody, onboardingBody } from '../schemas/push-bodies.ts'
import { describedSchema, type JsonSchema } from './described-schema.ts'

const atLeastOnce =
  'Sent until you answer 2xx, so it can come twice, and out of order. Answer within 15 seconds. 410 ends the pushes about this request to this URL; redirects are not followed.'
const noSignature =
  'Carries no signature: take it as a hint and confirm it with `GET /payments/status`.'

/** All pushes; they belong to the contract of 2024-10-01. */
export const webhooks: Record<string, JsonSchema> = {
  notify: {
    post: push('paymentNotify', 'One step of a payment request', notifyBody, {
      description: `Goes to \`transaction_request.urls.notify\`. ${atLeastOnce} ${noSignature}`,
    }),
  },
  callback: {
    post: push(
      'paymentCallback',
      'A payment request that has ended or was refunded',
      callbackBody,
      {
        description: `Goes to \`transaction_request.urls.callback\`. ${atLeastOnce} ${noSignature}`,
      },
    ),
  },
  onboarding: {
    post: push('accountCallback', 'The end of an onboarding or registration', onboardingBody, {
      description: `Goes to the \`callback_url\` of \`POST /account/personal_account\` and \`POST /account/register_account\`, signed. ${atLeastOnce}`,
      parameters: [
        {
          name: 'pw-signature',
          in: 'header',
          required: true,
          description:
            '`t=<unix seconds>,v1=<hex>`: HMAC-SHA-256 over `t`, a full stop and the raw body, keyed with the signing secret; a second `v1` during a rotation. Allow 300 seconds.',
          schema: { type: 'string', pattern: '^t=[1-9][0-9]{0,11}(,v1=[0-9a-f]{64}){1,8}$' },
        },
        {
          name: 'authorisation-token',
          in: 'header',
          required: true,
          description:
            'The `authorisation_token` of the request, sealed under the shared key of the institution: base64 of the byte 1, key id, nonce, AES-256-GCM ciphertext and tag, with `authorisation-token` as associated data.',
          schema: { type: 'string' },
        },
      ],
    }),
  },
}

function push(operationId: string, summary: string, body: TSchema, more: JsonSchema): JsonSchema {
  return {
    operationId,
    summary,
    ...more,
    security: [],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: describedSchema(body) } },
    },
    responses: { '2XX': { description: 'Accepted; it is not sent again.' } },
  }
}
