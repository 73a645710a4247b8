// The public exports of @payweave/sdk.

export type { CreatedAccount, SentRegistration } from './accounts.ts'
export type { BillPayment, PayOptions } from './bills.ts'
export type { ResendOptions } from './deliveries.ts'
export { type ErrorCode, PayweaveError, type Reason, WaitError } from './error.ts'
export { type Page, PageList } from './pages.ts'
export type { PaymentStatus } from './payments.ts'
export { createPayweave, type Payweave, type PayweaveOptions } from './payweave.ts'
export {
  type FindToken,
  type Push,
  type PushIds,
  type ReceivedRequest,
  readPush,
  type SignatureOptions,
  type SignedCallback,
  type VerifyOptions,
  verifyOnboardingCallback,
  verifySignature,
  WebhookError,
} from './pushes.ts'
export { openValue, type SealedPurpose, type SealingKey, sealValue } from './seal.ts'
export type { QuoteName, TransactionName } from './transfers.ts'
export type { ApiResponse, CallOptions } from './transport.ts'
export type * from './types/accounts.ts'
export type * from './types/bills.ts'
export type * from './types/lists.ts'
export type * from './types/payments.ts'
export type * from './types/profiles.ts'
export type * from './types/pushes.ts'
export type * from './types/transfers.ts'
export type { WaitOptions } from './wait.ts'
