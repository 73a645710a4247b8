// What a payer reads of each way in which a call to their wallet can fail.
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { NotSent } from '#platform/rpc/client/not-sent.ts'
import type { Phase } from './checkout-view.ts'
import type { MessageKind } from './render.ts'
import { walletFailure } from './wallet-failure.ts'

const lost = new Failure('SERVICE_UNAVAILABLE', 'no answer')
const late = new Failure('TIMEOUT', 'no answer in time')
const notSent = new Failure('SERVICE_UNAVAILABLE', 'no connection', { cause: new NotSent() })
const notPayable = new Failure('PAYMENT_NOT_PAYABLE', 'the back end does not have the attempt')
const noWallets = new Failure('UNSUPPORTED_CHANNEL_METHOD', 'no wallets')
const atAgent = new Failure('INVALID_PARAMETER', 'a channel without wallets')

it.each<[string, Failure, Phase | undefined, MessageKind | undefined]>([
  ['no answer, the share is open', lost, 'open', 'notConfirmed'],
  ['no answer in time, the share is open', late, 'open', 'notConfirmed'],
  ['no answer, the share cannot be read', lost, undefined, 'notConfirmed'],
  ['no answer, the attempt has begun', lost, 'processing', undefined],
  ['no answer, the share is paid', late, 'ended', undefined],
  ['not sent', notSent, undefined, 'notSent'],
  ['not sent, the share is open', notSent, 'open', 'notSent'],
  ['not sent, another tab pays', notSent, 'processing', undefined],
  ['not at the back end', notPayable, 'open', 'notSent'],
  ['a connector without wallets', noWallets, 'open', 'walletNotOffered'],
  ['a channel without wallets', atAgent, 'open', 'notSent'],
])('a wallet call that failed is said as it is: %s', (_, error, phase, kind) => {
  expect(walletFailure(error, phase)).toBe(kind)
})
