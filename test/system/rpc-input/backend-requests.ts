// The good requests of the back end that the simulator serves, for the sweep of bad input.
import { randomUUID } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import {
  ChargeChannel,
  ChargeService,
  WithdrawReason,
} from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { TransferService, TransferType } from '#gen/payweave/backend/v1/transfers_pb.js'
import { type Requests, requestsFor } from './facts.ts'

const mobileNumber = '+12025550199'

function inAnHour() {
  return timestampFromDate(new Date(Date.now() + 3_600_000))
}

/** The requests of `payweave.backend.v1`. */
export function backendRequests(): Requests {
  const amount = { currency: 'USD', minorUnits: 100n }
  const institutionName = 'Demo Wallet'
  const party = () => ({
    mobileNumber,
    organizationId: 'Demo',
    accountNumber: '1234567890',
    accountType: 'personal',
    metadata: 'none',
    kyc: { country: 'US' },
  })
  return {
    ...requestsFor(ChargeService, {
      announceCharges: [
        {
          charges: [
            {
              chargeId: randomUUID(),
              amount,
              mobileNumber,
              channel: ChargeChannel.AGENT,
              businessName: 'Sweep Store',
              cashCode: '123456789012',
              expireTime: inAnHour(),
            },
          ],
        },
      ],
      withdrawCharges: [
        { withdrawals: [{ chargeId: randomUUID(), reason: WithdrawReason.CANCELLED }] },
      ],
      payWithWallet: [{ chargeId: randomUUID(), attemptId: randomUUID(), pin: '123456' }],
      getAttempt: [{ attemptId: randomUUID() }],
      openCardFrame: [
        {
          chargeId: randomUUID(),
          returnUrl: 'https://shop.example/',
          language: 'fr',
          theme: { accentColor: '#0b57d0', darkAccentColor: '#93bbfa' },
        },
      ],
    }),
    ...requestsFor(PayoutService, {
      createPayout: [{ payoutId: randomUUID(), amount, mobileNumber }],
      createRefund: [{ refundId: randomUUID(), chargeId: randomUUID(), amount }],
    }),
    ...requestsFor(RateService, { getRate: [{ baseCurrency: 'USD', quotedCurrency: 'TTD' }] }),
    ...requestsFor(ReviewService, {
      submitOnboarding: [
        {
          reviewId: randomUUID(),
          institutionName,
          firstName: 'Ama',
          lastName: 'Mensah',
          email: 'ama@example.com',
          // Nobody decides on this one.
          mobileNumber: '+12025550108',
          details: { dob: '1990-01-31' },
          artefacts: [
            {
              artefactId: randomUUID(),
              field: 'selfie',
              mediaType: 'image/png',
              sizeBytes: 100n,
            },
          ],
        },
      ],
      requestConsent: [
        {
          challengeId: randomUUID(),
          institutionName,
          mobileNumber,
          clientName: 'Sweep Store',
          expireTime: inAnHour(),
        },
      ],
    }),
    ...requestsFor(TransferService, {
      createTransfer: [
        {
          transferId: randomUUID(),
          type: TransferType.DEPOSIT,
          institutionName,
          debitAmount: amount,
          creditAmount: amount,
          debitParty: party(),
          creditParty: party(),
          transferInformation: { remittance_purpose: 'gift' },
        },
      ],
      enquireTransfer: [{ transferId: randomUUID() }],
      cancelTransfer: [{ transferId: randomUUID() }],
    }),
    ...requestsFor(BillerService, {
      payBill: [
        {
          billPaymentId: randomUUID(),
          billerCode: 'DEMO_POWER',
          productCode: 'PREPAID',
          amount,
          customerReference: '12345678',
          customerMobileNumber: mobileNumber,
          idType: 'DP',
          idNumber: 'A123',
        },
      ],
      enquireBill: [{ billPaymentId: randomUUID() }],
    }),
  }
}
