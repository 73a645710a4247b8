// A small server in the place of accounts that records its requests. No assertions here.
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, type Reason } from '#core/errors/errors.ts'
import {
  type Account,
  AccountSchema,
  type AccountsService,
  type CreateBusinessAccountRequest,
  type CreatePersonalAccountRequest,
  type GetAccountBalanceRequest,
  type ListAccountTransactionsRequest,
  type OpenSessionRequest,
  type PersonalAccountProfile,
  type RegisterAccountRequest,
  type UploadPersonalAccountRequest,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'

/** One upload as far as it came. */
export type SeenUpload = {
  projectId: string
  requestId: string
  artefacts: Array<{ field: string; mediaType: string; bytes: number; maxChunk: number }>
  profile: PersonalAccountProfile | undefined
  /** How it ended: with the profile, at its end without one, or in the middle. */
  outcome: 'open' | 'stored' | 'without profile' | 'broken'
}

/** What the stand-in was asked, and how to make it answer otherwise. */
export type SeenAccounts = {
  sessions: OpenSessionRequest[]
  personal: CreatePersonalAccountRequest[]
  business: CreateBusinessAccountRequest[]
  registrations: RegisterAccountRequest[]
  balances: GetAccountBalanceRequest[]
  histories: ListAccountTransactionsRequest[]
  uploads: SeenUpload[]
  /** The refusal of the next calls, when set. */
  refuseWith?: Failure | Reason | undefined
  account: Account
  nextPageToken: string
  /** Runs before the next part of an upload is taken. */
  beforePart?: (() => Promise<void>) | undefined
}

export const accountId = '0198c000-0000-7000-8000-0000000000cc'
export const secrets = {
  sessionToken: `pws_${'S'.repeat(43)}`,
  apiKey: 'BUSINESSAPIKEYBUSINESSAPIKEYBUSI',
  authorisationToken: 'BUSINESSTOKENBUSINESSTOKENBUSINE',
}
const noon = timestampFromDate(new Date('2026-01-02T12:00:00.250Z'))

/** A stand-in that was asked nothing yet. */
export function newSeenAccounts(): SeenAccounts {
  return {
    sessions: [],
    personal: [],
    business: [],
    registrations: [],
    balances: [],
    histories: [],
    uploads: [],
    account: create(AccountSchema, {
      accountId,
      accountNumber: 'DW0000001234',
      accountType: 'personal',
      mobileNumber: '+12025550100',
      email: 'ama@example.com',
      firstName: 'Ama',
      lastName: 'Mensah',
      country: 'US',
      currency: 'USD',
      accountStatus: AccountStatus.AVAILABLE,
    }),
    nextPageToken: '',
  }
}

/** Answers each call with a fixed answer. */
export function accountsStandIn(seen: SeenAccounts): Partial<ServiceImpl<typeof AccountsService>> {
  const refuse = () => {
    const { refuseWith } = seen
    if (refuseWith === undefined) return
    throw refuseWith instanceof Failure ? refuseWith : new Failure(refuseWith, 'refused inside')
  }
  return {
    openSession(request) {
      seen.sessions.push(request)
      refuse()
      const { account } = seen
      if (account.accountStatus !== AccountStatus.AVAILABLE) return { account }
      const { sessionToken } = secrets
      return {
        account,
        session: { sessionToken, expireTime: noon, ttlSeconds: 900, singleUse: true },
      }
    },
    createPersonalAccount(request) {
      seen.personal.push(request)
      refuse()
      return pendingAccount(seen, request.profile)
    },
    async uploadPersonalAccount(requests) {
      const upload = await takeUpload(seen, requests)
      refuse()
      return pendingAccount(seen, upload.profile)
    },
    createBusinessAccount(request) {
      seen.business.push(request)
      refuse()
      const { apiKey, authorisationToken } = secrets
      return { merchantId: accountId, pin: 123_456, apiKey, authorisationToken }
    },
    registerAccount(request) {
      seen.registrations.push(request)
      refuse()
      return { challengeId: 'challenge-1', expireTime: noon }
    },
    getAccountBalance(request) {
      seen.balances.push(request)
      refuse()
      const usd = (minorUnits: bigint) => ({ currency: 'USD', minorUnits })
      return {
        account: seen.account,
        currentBalance: usd(1_000_050n),
        availableBalance: usd(999_950n),
        reservedBalance: usd(100n),
        unclearedBalance: usd(0n),
        asOfTime: noon,
      }
    },
    listAccountTransactions(request) {
      seen.histories.push(request)
      refuse()
      const fees = { currency: 'USD', minorUnits: 5n }
      const common = { description: 'Lunch', transactionMethod: 'p2p', postTime: noon }
      return {
        transactions: [
          {
            ...common,
            transactionId: 'transfer-2',
            amount: { currency: 'USD', minorUnits: -1_250n },
            fees,
            metadata: { quote_id: 'quote-1' },
          },
          {
            ...common,
            transactionId: 'transfer-1',
            amount: { currency: 'USD', minorUnits: 2_000n },
            cleared: true,
            clearTime: noon,
          },
        ],
        nextPageToken: seen.nextPageToken,
      }
    },
  }
}

function pendingAccount({ account }: SeenAccounts, profile: PersonalAccountProfile | undefined) {
  const { email = '', mobileNumberAsSent = '' } = profile ?? {}
  return {
    account: { ...account, email, accountStatus: AccountStatus.PENDING_REVIEW },
    mobileNumberAsSent,
  }
}

async function takeUpload(
  seen: SeenAccounts,
  requests: AsyncIterable<UploadPersonalAccountRequest>,
): Promise<SeenUpload> {
  const upload: SeenUpload = {
    projectId: '',
    requestId: '',
    artefacts: [],
    profile: undefined,
    outcome: 'open',
  }
  seen.uploads.push(upload)
  try {
    for await (const { part } of requests) {
      takePart(upload, part)
      await seen.beforePart?.()
    }
  } catch (error) {
    upload.outcome = 'broken'
    throw error
  }
  upload.outcome = upload.profile === undefined ? 'without profile' : 'stored'
  return upload
}

function takePart(upload: SeenUpload, part: UploadPersonalAccountRequest['part']): void {
  const last = upload.artefacts.at(-1)
  if (part.case === 'header') Object.assign(upload, part.value)
  if (part.case === 'artefact') {
    upload.artefacts.push({ ...part.value, bytes: 0, maxChunk: 0 })
  }
  if (part.case === 'chunk' && last !== undefined) {
    last.bytes += part.value.length
    last.maxChunk = Math.max(last.maxChunk, part.value.length)
  }
  if (part.case === 'profile') upload.profile = part.value
}
