// One or more good requests for every method of ours, together with every field of it set: what the sweep of bad input starts from.
import { randomBytes, randomUUID } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  AccountsService,
  LookupType,
  type PersonalAccountProfileSchema,
  type UploadPersonalAccountRequestSchema,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { ItemClaimService, ItemKind } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import {
  KeyAdministrationService,
  KeyStep,
} from '#gen/payweave/accounts/v1/key_administration_pb.js'
import {
  InternalAccount,
  LedgerService,
  type PostingSchema,
  type TransferDetailsSchema,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import {
  FundsAccessStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import {
  BackendTaskKind,
  BackendTaskService,
  OnboardingService,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { KeyService } from '#gen/payweave/keys/v1/keys_pb.js'
import { access } from './access-requests.ts'
import { type Facts, type Requests, requestsFor } from './facts.ts'

const minuteMs = 60_000

function inAnHour() {
  return timestampFromDate(new Date(Date.now() + 60 * minuteMs))
}

function profile(): MessageInitShape<typeof PersonalAccountProfileSchema> {
  return {
    firstName: 'Ama',
    lastName: 'Mensah',
    email: 'ama@example.com',
    mobileNumber: '+12025550188',
    mobileNumberAsSent: '+1 202 555 0188',
    institutionName: 'Demo Wallet',
    callbackUrl: 'https://shop.example/callback',
    authorisationToken: 'a-token-of-the-client',
    details: { dob: '1990-01-31' },
    originCountry: 'US',
  }
}

type UploadPart = MessageInitShape<typeof UploadPersonalAccountRequestSchema>['part']

/** AccountsService: customers' accounts. */
function accounts({ projectId, sessionToken }: Facts) {
  const mobileNumber = '+12025550100'
  const institutionName = 'Demo Wallet'
  const requestId = randomUUID()
  const window = { startTime: timestampFromDate(new Date('2026-01-01')), endTime: inAnHour() }
  const session = {
    projectId,
    institutionName,
    references: [{ mobileNumber, accountNumber: '1234567890' }],
    withLimitRoom: true,
  }
  const part = (value: NonNullable<UploadPart>) => ({ part: value })
  return requestsFor(AccountsService, {
    openSession: [
      {
        projectId,
        requestId,
        lookupType: LookupType.MOBILE,
        lookupValue: mobileNumber,
        institutionName,
        firstName: 'Ama',
        lastName: 'Mensah',
        email: 'ama@example.com',
        fingerprint: randomBytes(32),
      },
    ],
    resolveSession: [
      { ...session, token: { case: 'sessionToken', value: sessionToken } },
      { ...session, token: { case: 'sessionTokenSealed', value: 'AQIDBAUGBwg=' } },
    ],
    createPersonalAccount: [{ projectId, requestId, profile: profile() }],
    // Each is one message of a stream; the test sends the others before it.
    uploadPersonalAccount: [
      part({ case: 'header', value: { projectId, requestId } }),
      part({ case: 'artefact', value: { field: 'selfie', mediaType: 'image/png' } }),
      part({ case: 'chunk', value: Buffer.from('89504e470d0a1a0a00', 'hex') }),
      part({ case: 'profile', value: profile() }),
    ],
    createBusinessAccount: [
      {
        projectId,
        businessName: 'Sweep Store',
        firstName: 'Ama',
        lastName: 'Mensah',
        email: 'ama@example.com',
        mobileNumber: '+12025550189',
      },
    ],
    registerAccount: [
      {
        projectId,
        requestId,
        mobileNumber,
        institutionName,
        firstName: 'Ama',
        lastName: 'Mensah',
        sessionToken,
        authorisationToken: 'a-token-of-the-client',
        callbackUrl: 'https://shop.example/callback',
        mobileNumberAsSent: mobileNumber,
      },
    ],
    getAccountBalance: [{ projectId, mobileNumber }],
    listAccountTransactions: [
      { projectId, mobileNumber, ...window, pageSize: 10, pageToken: '' },
      { projectId, mobileNumber, pageSize: 10, pageToken: 'bm90IG91cnM' },
    ],
  })
}

function details(): MessageInitShape<typeof TransferDetailsSchema> {
  return { reference: 'sweep', description: 'A sweep', method: 'p2p', metadata: { note: 'none' } }
}

function postings(debit: MessageInitShape<typeof PostingSchema>['address']) {
  const amount = (minorUnits: bigint) => ({ currency: 'USD', minorUnits })
  return [
    { address: debit, amount: amount(-100n), feeMinorUnits: 1n },
    {
      address: { holder: { case: 'internal' as const, value: InternalAccount.CLEARING } },
      amount: amount(100n),
      feeMinorUnits: 0n,
    },
  ]
}

/** A ledger address of every kind. */
function holders(projectId: string, accountId: string) {
  return {
    own: { holder: { case: 'accountId' as const, value: accountId } },
    float: { holder: { case: 'floatProjectId' as const, value: projectId } },
    internal: { holder: { case: 'internal' as const, value: InternalAccount.HELD } },
  }
}

/** LedgerService: transfers and holds. */
function ledger({ projectId, accountId }: Facts) {
  const { own, float, internal } = holders(projectId, accountId)
  const transfer = { projectId, transferId: randomUUID(), details: details() }
  const hold = {
    projectId,
    holdId: randomUUID(),
    amount: { currency: 'USD', minorUnits: 1n },
    expireTime: inAnHour(),
    details: details(),
  }
  return requestsFor(LedgerService, {
    postTransfer: [
      { ...transfer, postings: postings(own) },
      { ...transfer, postings: postings(float) },
      { ...transfer, postings: postings(internal) },
    ],
    reverseTransfer: [
      { projectId, transferId: randomUUID(), reversesId: randomUUID(), description: 'A mistake' },
    ],
    createHold: [
      { ...hold, address: own },
      { ...hold, address: float },
      { ...hold, address: internal },
    ],
    postHold: [
      { projectId, holdId: randomUUID(), postings: postings(own) },
      { projectId, holdId: randomUUID(), postings: postings(float) },
      { projectId, holdId: randomUUID(), postings: postings(internal) },
    ],
    voidHold: [{ projectId, holdId: randomUUID() }],
    getTransfer: [{ projectId, transferId: randomUUID() }],
    listTransfers: [
      { case: 'accountId' as const, value: accountId },
      { case: 'projectFloat' as const, value: true },
      internal.holder,
    ].map((account) => ({
      projectId,
      account,
      startTime: timestampFromDate(new Date('2026-01-01')),
      endTime: inAnHour(),
      method: 'p2p',
      reference: 'order-1',
      pageSize: 10,
      pageToken: Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url'),
    })),
    getHold: [{ projectId, holdId: randomUUID() }],
    getLedgerBalance: [
      { projectId, address: own, currency: 'USD' },
      { projectId, address: float, currency: 'USD' },
      { projectId, address: internal, currency: 'USD' },
    ],
    checkLedger: [{}],
    getLastLedgerCheck: [{}],
  })
}

/** BalanceService: balances and statements for people. */
function balances({ projectId }: Facts) {
  const startTime = timestampFromDate(new Date('2026-01-01'))
  const pageToken = Buffer.from(`1700000000000000.${randomUUID()}.1`).toString('base64url')
  return requestsFor(BalanceService, {
    listProjectBalances: [{ projectId }],
    listOpenBalances: [{ internal: InternalAccount.SUSPENSE }],
    listSuspenseItems: [{}, { transferId: randomUUID() }],
    listFloatPostings: [{ projectId, startTime, endTime: inAnHour(), pageSize: 10, pageToken }],
  })
}

/** MovementService: money, limits and tokens together. */
function movements({ projectId, institutionId, accountId }: Facts) {
  const limitUse = { accountId, amount: { currency: 'TTD', minorUnits: 100n } }
  const begin = {
    projectId,
    movementId: randomUUID(),
    sessionTokenHash: randomBytes(32),
    institutionId,
    limitUse,
    details: details(),
    beginBeforeTime: inAnHour(),
  }
  const { own, float, internal } = holders(projectId, accountId)
  return requestsFor(MovementService, {
    beginMovement: [
      { ...begin, postings: postings(own) },
      { ...begin, postings: postings(float) },
      { ...begin, postings: postings(internal) },
      {
        ...begin,
        hold: {
          accountId,
          amount: { currency: 'USD', minorUnits: 1n },
          expireTime: inAnHour(),
          feeMinorUnits: 0n,
        },
      },
      { ...begin, credit: { accountId, amount: { currency: 'USD', minorUnits: 1n } } },
    ],
    completeMovement: [
      { projectId, movementId: randomUUID(), postings: postings(own) },
      { projectId, movementId: randomUUID(), postings: postings(float) },
      { projectId, movementId: randomUUID(), postings: postings(internal) },
    ],
    cancelMovement: [{ projectId, movementId: randomUUID() }],
    checkLimits: [{ projectId, limitUse }],
  })
}

/** What back ends report to accounts and people decide, and its job. */
function accountReports({ projectId }: Facts) {
  const completed = {
    accountLevel: 1,
    fundsAccessStatus: FundsAccessStatus.FULL,
    currency: 'USD',
  }
  const item = { kind: ItemKind.BILL, itemId: randomUUID() }
  return {
    ...requestsFor(ReviewReportService, {
      reportOnboarding: [
        { reviewId: randomUUID(), outcome: { case: 'completed', value: completed } },
        { reviewId: randomUUID(), outcome: { case: 'rejected', value: { reason: 'Unclear' } } },
      ],
      reportConsent: [{ challengeId: randomUUID(), answer: RegistrationStatus.APPROVED }],
      readArtefact: [{ reviewId: randomUUID(), artefactId: randomUUID() }],
    }),
    ...requestsFor(OnboardingService, {
      listOnboardings: [{ reviewId: randomUUID(), pageSize: 10, pageToken: randomUUID() }],
      getOnboarding: [{ reviewId: randomUUID() }],
      decideOnboarding: [
        {
          reviewId: randomUUID(),
          outcome: { case: 'completed', value: completed },
          reason: 'Their passport',
        },
        { reviewId: randomUUID(), outcome: { case: 'rejected', value: true }, reason: 'Unclear' },
      ],
      readOnboardingArtefact: [{ reviewId: randomUUID(), artefactId: randomUUID() }],
    }),
    ...requestsFor(CustomerService, {
      listCustomers: [
        { projectId, pageSize: 10, pageToken: randomUUID() },
        { projectId, lookupType: LookupType.EMAIL, lookupValue: 'efua@example.com' },
      ],
      getCustomer: [{ projectId, accountId: randomUUID() }],
      getPersonalData: [{ projectId, accountId: randomUUID() }],
    }),
    ...requestsFor(ItemClaimService, {
      claimItem: [{ item, takeOverFrom: 'console:kofi@example.com' }],
      releaseItem: [{ item }],
      listItemClaims: [{ items: [item] }],
    }),
    ...requestsFor(SettlementPostingService, {
      restartBackfill: [{}],
      getBackfill: [
        {
          settlementId: randomUUID(),
          pageSize: 10,
          pageToken: Buffer.from(`1 ${randomUUID()}`).toString('base64url'),
        },
      ],
      retrySettlement: [{ settlementId: randomUUID() }],
      postPaymentSettlements: [{ paymentId: randomUUID() }],
    }),
    ...requestsFor(BackendTaskService, {
      listBackendTasks: [{ minAttempts: 5 }],
      retryBackendTask: [{ subjectId: randomUUID(), kind: BackendTaskKind.SUBMIT_ONBOARDING }],
    }),
  }
}

/** What operators ask about keys of stored values. */
function keys() {
  const keyId = '00c0ffee'
  const step = KeyStep.ADDED
  return {
    ...requestsFor(KeyService, {
      listKeys: [{}],
      // The place before the first row.
      countDependants: [{ file: 'seal.key', pageToken: Buffer.from('0 ').toString('base64url') }],
    }),
    ...requestsFor(KeyAdministrationService, {
      resealPage: [{ keyId, checkOnly: true, pageToken: Buffer.from('0 ').toString('base64url') }],
      recordKeyStep: [{ file: 'accounts/pepper', keyId, step, unchecked: true }],
    }),
  }
}

/** The requests of all services of the accounts process. */
export function accountsRequests(facts: Facts): Requests {
  return {
    ...access(facts),
    ...accounts(facts),
    ...ledger(facts),
    ...balances(facts),
    ...movements(facts),
    ...accountReports(facts),
    ...keys(),
  }
}
