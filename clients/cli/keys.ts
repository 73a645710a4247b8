// The commands on keys; they print a secret once, when it is issued, and do not keep it.
import { create } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors/errors.ts'
import {
  IssueApiKeyResponseSchema,
  type IssuedKey,
  IssuedKeySchema,
  IssueSubscriptionKeyResponseSchema,
  KeyState,
  type RevokeSubscriptionKeyResponse,
  RevokeSubscriptionKeyResponseSchema,
} from '#gen/payweave/accounts/v1/access_pb.js'
import {
  type AccessWork,
  accountsOptions,
  namingOptions,
  once,
  onceOption,
  oneOperand,
  projectNamed,
  projectOption,
  withAccess,
} from './access.ts'
import type { Command } from './command.ts'
import { jsonLine, time, valueOf } from './output/print.ts'
import { type ListShape, printList } from './output/table.ts'

const merchantOption = {
  merchant: 'UUID of a merchant: use its API keys instead of subscription keys',
} as const

/** The commands of `key`. */
export const keyCommands: Command[] = [
  {
    name: 'key issue',
    operands: '',
    summary: 'Issues a subscription key, or an API key of a merchant; at most two are active.',
    options: { ...namingOptions, ...projectOption, ...merchantOption, ...onceOption },
    run: (context) =>
      withAccess(context, context.options['merchant'] === undefined ? issue : issueForMerchant),
  },
  {
    name: 'key revoke',
    operands: '<key id>',
    summary: 'Revokes a subscription key or API key immediately.',
    options: accountsOptions,
    run: (context) => withAccess(context, revoke),
  },
  {
    name: 'key list',
    operands: '',
    summary: 'Lists subscription keys and API keys by id and dates, newest first.',
    options: { ...namingOptions, ...projectOption, ...merchantOption, state: 'active or revoked' },
    run: (context) => withAccess(context, list),
  },
]

const issue: AccessWork = async (context, access) => {
  const projectId = await projectNamed(context, access)
  const issued = await once(context, (requestId) =>
    access.issueSubscriptionKey({ projectId, requestId }),
  )
  if (context.json) {
    context.print(jsonLine(IssueSubscriptionKeyResponseSchema, issued))
    return
  }
  context.print(`key id            ${issued.keyId}`)
  context.print(`subscription key  ${issued.subscriptionKey}`)
}

const issueForMerchant: AccessWork = async (context, access) => {
  const projectId = await projectNamed(context, access)
  const merchantId = context.options['merchant'] ?? ''
  const issued = await once(context, (requestId) =>
    access.issueApiKey({ projectId, merchantId, requestId }),
  )
  if (context.json) {
    context.print(jsonLine(IssueApiKeyResponseSchema, issued))
    return
  }
  context.print(`key id   ${issued.keyId}`)
  context.print(`api key  ${issued.apiKey}`)
}

const revoke: AccessWork = async (context, access) => {
  const keyId = oneOperand(context, 'key id')
  const revoked = await access.revokeSubscriptionKey({ keyId }).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.reason !== 'KEY_NOT_FOUND') throw error
    return access.revokeApiKey({ keyId })
  })
  context.print(
    context.json
      ? jsonLine(RevokeSubscriptionKeyResponseSchema, sameAnswer(revoked))
      : `revoked  ${time(revoked.revokeTime)}`,
  )
}

/** Both kinds of keys are revoked with the same answer. */
function sameAnswer({ revokeTime }: { revokeTime?: Timestamp }): RevokeSubscriptionKeyResponse {
  return create(RevokeSubscriptionKeyResponseSchema, revokeTime === undefined ? {} : { revokeTime })
}

const list: AccessWork = async (context, access) => {
  const projectId = await projectNamed(context, access)
  const merchantId = context.options['merchant'] ?? ''
  const state = valueOf(KeyState, context.options['state'], 'state')
  const subscriptions =
    merchantId === '' ? (await access.listSubscriptionKeys({ projectId, state })).keys : []
  const { keys } = await access.listApiKeys({ projectId, merchantId, state })
  await printList(context, keyShape, [[...subscriptions, ...keys]])
}

const keyShape: ListShape<IssuedKey> = {
  headings: ['KEY ID', 'KIND', 'ISSUED', 'STATE', 'REVOKED', 'MERCHANT'],
  cells: ({ keyId, merchantId, issueTime, revokeTime }) => [
    keyId,
    merchantId === '' ? 'subscription' : 'api',
    time(issueTime),
    revokeTime === undefined ? 'active' : 'revoked',
    time(revokeTime),
    merchantId,
  ],
  json: (key) => jsonLine(IssuedKeySchema, key),
  none: 'no keys',
}
