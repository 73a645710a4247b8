// Resolves session tokens in accounts.

import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type Account,
  type ResolveSessionRequestSchema,
  SessionState,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import type { AccountFacts, NewTransaction, Session } from '../domain/transaction.ts'
import type { Peers } from './peers.ts'

/** A session token in one of its two forms. */
export type Token = Exclude<
  MessageInitShape<typeof ResolveSessionRequestSchema>['token'],
  undefined
>

const states: Partial<Record<SessionState, Session['state']>> = {
  [SessionState.LIVE]: 'live',
  [SessionState.SPENT]: 'spent',
  [SessionState.EXPIRED]: 'expired',
}

/** The session of the token, and of a p2p the account that gets the money. SESSION_INVALID for an unknown token. */
export async function resolveSession(
  accounts: Peers['accounts'],
  { projectId, institutionName, type, described }: NewTransaction,
  token: Token,
): Promise<Session> {
  const { mobileNumber, accountNumber } = described.creditParty
  const isNamed = type === 'p2p' && (mobileNumber !== '' || accountNumber !== '')
  const references = isNamed ? [{ mobileNumber, accountNumber }] : []
  const answer = await accounts.resolveSession(
    { projectId, institutionName, token, references },
    withProject(projectId),
  )
  const state = states[answer.state]
  if (answer.account === undefined || state === undefined) throw new Error('the answer is empty')
  const [far] = answer.references
  return {
    tokenHash: Buffer.from(answer.tokenHash),
    state,
    account: factsOf(answer.account),
    far: {
      account: isKnown(far?.account) ? factsOf(far.account) : undefined,
      isAmbiguous: far?.ambiguous ?? false,
    },
    limitCurrency: answer.limitCurrency,
  }
}

/** A profile under review is no account yet. */
function isKnown(account: Account | undefined): account is Account {
  return account !== undefined && account.accountStatus !== AccountStatus.PENDING_REVIEW
}

function factsOf(account: Account): AccountFacts {
  const { accountId, institutionId, institutionName, accountNumber, mobileNumber } = account
  return {
    accountId,
    institutionId,
    institutionName,
    accountNumber,
    mobileNumber,
    currency: account.currency,
    isAvailable: account.accountStatus === AccountStatus.AVAILABLE,
  }
}
