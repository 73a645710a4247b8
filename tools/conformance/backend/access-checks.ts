// Checks of credentials: a back end serves Payweave's processes only, each in its own services.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { RpcStatus } from '#core/errors/errors.ts'
import { bearerIdentity, type Identity, openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import {
  amountOf,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandStatus,
} from './check.ts'
import type { OptionalGroup } from './outcome-map.ts'

const access = backendGroup('access')

export const accessChecks: readonly BackendCheck[] = [
  access(
    'no-token',
    'A call whose credential is no token is refused with UNAUTHENTICATED.',
    [],
    (context) => demandRefused(context, bearerIdentity('not-a-token'), 'unauthenticated'),
  ),
  access(
    'other-audience',
    'A token for another process is refused with UNAUTHENTICATED.',
    [],
    (context) => {
      const { authorization } = context.identityOf('payments')
      return demandRefused(
        context,
        { authorization: () => authorization('somebody-else') },
        'unauthenticated',
      )
    },
  ),
  access(
    'foreign-key',
    'A token that an unknown key has signed is refused with UNAUTHENTICATED.',
    [],
    async (context) => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-conformance-'))
      try {
        writeIdentities(folder, ['payments'])
        const dir = path.join(folder, 'payments')
        const foreign = openIdentity({ name: 'payments', dir, log: { warn: () => undefined } })
        await demandRefused(context, foreign, 'unauthenticated')
      } finally {
        fs.rmSync(folder, { recursive: true })
      }
    },
  ),
  access(
    'other-process',
    'A process that does not use a service may not call it: PERMISSION_DENIED.',
    [],
    (context) => demandRefused(context, context.identityOf('quotes'), 'permission_denied'),
  ),
  access(
    'unsupported',
    'An operation that the rail does not have is answered UNIMPLEMENTED.',
    ['unsupported'],
    async (context) => {
      for (const group of context.outcome('unsupported').groups) {
        await demandStatus(operations[group](context, randomUUID()), 'unimplemented', group)
      }
    },
  ),
]

/** One operation of each group. */
const operations: Record<OptionalGroup, (context: CheckContext, id: string) => Promise<unknown>> = {
  wallets: ({ charges }, id) => charges.payWithWallet({ chargeId: id, attemptId: id, pin: '0000' }),
  cards: ({ charges, pagesOrigin }, chargeId) =>
    charges.openCardFrame({ chargeId, returnUrl: pagesOrigin }),
  payouts: (context, payoutId) =>
    context.payouts.createPayout({
      payoutId,
      amount: amountOf(context),
      mobileNumber: '+12025550100',
    }),
  transfers: ({ transfers }, transferId) => transfers.enquireTransfer({ transferId }),
  bills: ({ bills }, billPaymentId) => bills.enquireBill({ billPaymentId }),
  reviews: ({ reviews }, reviewId) => reviews.submitOnboarding({ reviewId }),
  consents: ({ reviews }, challengeId) => reviews.requestConsent({ challengeId }),
  rates: ({ rates }) => rates.getRate({ baseCurrency: 'EUR', quotedCurrency: 'USD' }),
}

function demandRefused(
  context: CheckContext,
  identity: Pick<Identity, 'authorization'>,
  status: RpcStatus,
): Promise<void> {
  const call = context.chargesAs(identity).getAttempt({ attemptId: randomUUID() })
  return demandStatus(call, status, 'the call')
}
