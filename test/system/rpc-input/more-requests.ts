// The good requests of all services but accounts, for the sweep of bad input.
import { randomBytes, randomUUID } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ApprovalService, ApprovalState } from '#gen/payweave/approvals/v1/approvals_pb.js'
import { RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { BillingService, BillPaymentState } from '#gen/payweave/billing/v1/billing_pb.js'
import { CatalogueService } from '#gen/payweave/billing/v1/catalogue_pb.js'
import { ClockService } from '#gen/payweave/clock/v1/clock_pb.js'
import {
  InstitutionService,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import {
  TransferOutcome as InstitutionOutcome,
  TransferReportService,
} from '#gen/payweave/institution/v1/transfer_report_pb.js'
import {
  ChargeOutcome,
  ChargeReportService,
  TransferOutcome,
} from '#gen/payweave/payments/v1/charge_report_pb.js'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import {
  CallKind,
  PaymentOperationsService,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import {
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { RouteKind, RoutingService } from '#gen/payweave/payments/v1/routes_pb.js'
import { SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import {
  QuoteKind,
  QuoteStatus,
  QuotesService,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { deliveryRequests } from './delivery-requests.ts'
import { type Facts, inAnHour, type Requests, requestsFor } from './facts.ts'

/** A connector in the settings of the system, at whose address nobody listens. */
export const furtherConnector = 'connector-second'
const linkToken = 'a'.repeat(43)
const frameTheme = { accentColor: '#0b57d0', darkAccentColor: '#93bbfa' }
const mobileNumber = '+12025550199'

/** What people decide together, in payments and in billing. */
function approvals({ projectId }: Facts): Requests {
  const key = { projectId, approvalId: randomUUID() }
  const state = ApprovalState.WAITING
  const pageToken = Buffer.from(randomUUID()).toString('base64url')
  return requestsFor(ApprovalService, {
    listApprovals: [{ ...key, subjectId: 'bill_x', state, pageSize: 10, pageToken }],
    approve: [key],
    reject: [{ ...key, note: 'No receipt' }],
  })
}

function payments({ projectId, merchantId }: Facts): Requests {
  const means = { channel: PaymentChannel.PAYMENT_LINK, method: PaymentMethod.WALLET }
  const routeKey = { kind: RouteKind.CHARGE, projectId, currency: 'USD', ...means }
  const url = 'https://shop.example/'
  const number = { mobileNumber, mobileNumberE164: mobileNumber }
  const key = { projectId, merchantId, paymentId: randomUUID() }
  const window = { startTime: timestampFromDate(new Date('2026-01-01')), endTime: inAnHour() }
  return {
    ...requestsFor(PaymentsService, {
      createPayment: [
        {
          projectId,
          merchantId,
          transactionId: randomUUID(),
          amountMinor: 10_000n,
          currency: 'USD',
          description: 'Two coffees',
          fraudCheck: false,
          feeTerms: { paysFees: true, payerCoversPercent: 50 },
          payers: [
            {
              ...number,
              firstName: 'Ama',
              lastName: 'Mensah',
              email: 'ama@example.com',
              paymentChannel: PaymentChannel.PAYMENT_LINK,
              paymentMethod: PaymentMethod.WALLET,
              amountMinor: 10_000n,
            },
          ],
          payees: [{ ...number, amountMinor: 10_000n, delayDays: 1 }],
          urls: { success: url, error: url, notify: url, callback: url },
          requestFingerprint: randomBytes(32),
        },
      ],
      getPayment: [key],
      cancelPayment: [key],
      refundPayment: [{ ...key, reason: 'Out of stock' }],
      getPaymentSummary: [{ projectId, merchantId }],
      listPayments: [
        {
          projectId,
          merchantId,
          transactionId: 'order-1',
          mobileNumberE164: mobileNumber,
          amountMinor: 1_000n,
          currency: 'USD',
          state: PaymentState.PAID,
          ...window,
          pageSize: 10,
          pageToken: Buffer.from(`1700000000000 ${randomUUID()}`).toString('base64url'),
        },
      ],
      listPaymentEvents: [key],
    }),
    ...requestsFor(CheckoutService, {
      getCheckout: [{ linkToken }],
      getReceipt: [{ receiptToken: 'a'.repeat(49) }],
      payWithWallet: [{ linkToken, pin: '123456' }],
      openCardFrame: [{ linkToken, language: 'pt-BR', theme: frameTheme }],
      cancelCheckout: [{ linkToken }],
    }),
    ...requestsFor(ChargeReportService, {
      reportCharge: [
        {
          chargeId: randomUUID(),
          attemptId: randomUUID(),
          outcome: ChargeOutcome.PAID,
          paymentMethod: PaymentMethod.CARD,
        },
        {
          chargeId: randomUUID(),
          attemptId: randomUUID(),
          outcome: ChargeOutcome.REFUSED,
          refusalReason: RefusalReason.INSUFFICIENT_FUNDS,
        },
      ],
      reportPayout: [{ payoutId: randomUUID(), outcome: TransferOutcome.COMPLETED }],
      reportRefund: [{ refundId: randomUUID(), outcome: TransferOutcome.COMPLETED }],
    }),
    ...requestsFor(SettlementService, {
      listSettlements: [
        {
          pageSize: 10,
          pageToken: randomUUID(),
          createdFrom: timestampFromDate(new Date(0)),
          createdTo: timestampFromDate(new Date()),
          connector: 'simulator',
        },
        { settlementId: randomUUID() },
        { paymentId: randomUUID() },
        { references: [randomUUID()] },
      ],
      listProjectSettlements: [
        {
          projectId,
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
          pageSize: 10,
          pageToken: Buffer.from(randomUUID()).toString('base64url'),
        },
      ],
    }),
    ...requestsFor(PaymentOperationsService, {
      listWaitingRefunds: [
        {
          state: WaitingRefundState.FAILED,
          refundId: randomUUID(),
          pageSize: 10,
          pageToken: randomUUID(),
        },
      ],
      settleRefund: [{ refundId: randomUUID(), note: 'Paid by bank transfer' }],
      listFailingCalls: [{ minAttempts: 5 }],
      listProcessingAttempts: [
        {
          minAgeS: 60,
          pageSize: 10,
          pageToken: Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url'),
        },
      ],
      retryCall: [{ subjectId: randomUUID(), kind: CallKind.REFUND }],
      enquireAttempt: [{ attemptId: randomUUID() }],
      repeatRefund: [{ refundId: randomUUID() }],
    }),
    ...requestsFor(RoutingService, {
      listRoutes: [{}],
      putRoute: [{ key: routeKey, connector: 'simulator', fallbackConnector: furtherConnector }],
      deleteRoute: [{ key: routeKey }],
      listRouteChanges: [{}],
    }),
  }
}

function institution({ projectId, sessionToken }: Facts): Requests {
  const placeToken = Buffer.from(`1700000000000 ${randomUUID()}`).toString('base64url')
  const idToken = Buffer.from(randomUUID()).toString('base64url')
  const party = {
    mobileNumber: '+12025550100',
    organizationId: 'Demo',
    accountNumber: '1234567890',
    accountType: 'personal',
    currency: 'USD',
    metadata: 'none',
  }
  const transaction = {
    projectId,
    institutionName: 'Demo Wallet',
    transactionId: randomUUID(),
    type: TransactionType.P2P,
    transactionTime: inAnHour(),
    amount: '1.00',
    senderAmount: '1.00',
    senderCurrency: 'USD',
    description: 'A gift',
    fees: [{ type: 'sender_pays', amount: '0.10', currency: 'USD' }],
    debitParty: party,
    creditParty: { ...party, mobileNumber: '+12025550101', accountNumber: '' },
    senderKyc: { full_name: 'Ama Mensah' },
    recipientKyc: { country: 'US' },
    transferInformation: { remittance_purpose: 'gift' },
    quoteId: randomUUID(),
    requestFingerprint: randomBytes(32),
  }
  return {
    ...requestsFor(InstitutionService, {
      createTransaction: [
        { ...transaction, token: { case: 'sessionToken', value: sessionToken } },
        { ...transaction, token: { case: 'sessionTokenSealed', value: 'AQIDBAUGBwg=' } },
      ],
      getTransaction: [
        { projectId, institutionName: 'Demo Wallet', transactionId: randomUUID() },
        { projectId, movementId: randomUUID() },
      ],
      listProjectTransactions: [
        {
          projectId,
          status: TransactionStatus.FAILED,
          pageSize: 10,
          pageToken: idToken,
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
        },
      ],
      listWaitingTransactions: [{ minAgeS: 60, pageSize: 10, pageToken: placeToken }],
      resumeTransaction: [{ movementId: randomUUID() }],
      listTransactions: [
        {
          projectId,
          mobileNumber,
          startTime: timestampFromDate(new Date()),
          endTime: inAnHour(),
          pageSize: 10,
          pageToken: placeToken,
        },
      ],
    }),
    ...requestsFor(TransferReportService, {
      reportTransfer: [
        { transferId: randomUUID(), outcome: InstitutionOutcome.FAILED, reason: 'No such account' },
      ],
    }),
  }
}

function quotes({ projectId, institutionId, sessionToken }: Facts): Requests {
  const money = { currency: 'USD', minorUnits: 100n }
  const claim = { projectId, quoteId: randomUUID(), movementId: randomUUID() }
  return requestsFor(QuotesService, {
    createQuote: [
      {
        projectId,
        sessionToken,
        institutionName: 'Demo Wallet',
        kind: QuoteKind.TRANSFER,
        requested: money,
        creditParty: { mobileNumber, accountNumber: '1234567890', currency: 'TTD' },
      },
    ],
    listQuotes: [
      {
        projectId,
        quoteId: randomUUID(),
        status: QuoteStatus.USED,
        pageSize: 10,
        pageToken: Buffer.from(randomUUID()).toString('base64url'),
      },
    ],
    listHeldQuotes: [
      {
        minAgeS: 60,
        pageSize: 10,
        pageToken: Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url'),
      },
    ],
    getQuote: [{ projectId, institutionName: 'Demo Wallet', quoteId: randomUUID() }],
    reserveQuote: [{ ...claim, institutionId, debit: money, credit: money }],
    confirmQuote: [
      {
        ...claim,
        transactionId: 'sweep',
        institutionReceiptId: 'receipt',
        transactionStatus: QuoteTransactionStatus.COMPLETED,
      },
    ],
    releaseQuote: [claim],
    updateQuoteTransaction: [{ ...claim, transactionStatus: QuoteTransactionStatus.FAILED }],
    getRate: [{ baseCurrency: 'USD', quotedCurrency: 'TTD' }],
  })
}

function billing({ projectId }: Facts): Requests {
  const key = { projectId, transactionId: randomBytes(24).toString('base64url') }
  const billToken = Buffer.from(randomUUID()).toString('base64url')
  const placeToken = Buffer.from(`1700000000000000 ${randomUUID()}`).toString('base64url')
  const usd = (minorUnits: bigint) => ({ currency: 'USD', minorUnits })
  const product = {
    billerCode: 'DEMO_POWER',
    productCode: 'SWEEP',
    name: 'A product of the sweep',
    ranges: [{ min: usd(100n), max: usd(200n) }],
    referencePattern: '\\d{8}',
    active: false,
  }
  const decided = { ...key, note: 'Called the biller' }
  return {
    ...requestsFor(BillingService, {
      payBill: [
        {
          projectId,
          idempotencyKey: randomUUID(),
          fingerprint: randomBytes(32),
          billerCode: 'DEMO_POWER',
          productCode: 'PREPAID',
          amount: usd(500n),
          customerReference: '12345678',
          customerMobileNumber: mobileNumber,
          externalReference: 'order-1',
          clientReceiptId: 'receipt-1',
          idType: 'DP',
          idNumber: 'A123',
          description: 'Power',
          otherData: 'none',
          metadataJson: '{"a":1}',
        },
      ],
      getBillPayment: [key],
      listBillPayments: [
        {
          projectId,
          state: BillPaymentState.FAILED,
          pageSize: 10,
          pageToken: billToken,
          startTime: timestampFromDate(new Date('2026-01-01')),
          endTime: inAnHour(),
        },
      ],
      printReceipt: [key],
      readReceipt: [{ token: linkToken }],
    }),
    ...requestsFor(CatalogueService, {
      putBiller: [{ biller: { billerCode: 'SWEEP', name: 'A biller', active: false } }],
      putProduct: [{ product }],
      listCatalogue: [{}],
      listCatalogueChanges: [
        {
          caller: 'operator',
          target: 'SWEEP',
          startTime: timestampFromDate(new Date(0)),
          endTime: timestampFromDate(new Date()),
          pageSize: 10,
          pageToken: placeToken,
        },
      ],
      listReviews: [{ billPaymentId: randomUUID(), pageSize: 10, pageToken: placeToken }],
      resolveReview: [
        { ...decided, decision: { case: 'paid', value: true } },
        { ...decided, decision: { case: 'failedWith', value: 'NOT_PAID' } },
        { ...decided, decision: { case: 'enquireAgain', value: true } },
      ],
    }),
  }
}

/** The requests of every process but accounts. */
export function otherRequests(facts: Facts): Requests {
  return {
    ...payments(facts),
    ...approvals(facts),
    ...institution(facts),
    ...quotes(facts),
    ...billing(facts),
    ...requestsFor(ClockService, { getClock: [{}], advanceClock: [{ aheadMs: 1_000n }] }),
    ...deliveryRequests(facts),
  }
}
