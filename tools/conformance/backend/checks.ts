// Every check of a back end, in the order of the report.
import { accessChecks } from './access-checks.ts'
import { billChecks } from './bill-checks.ts'
import { cardChecks } from './card-checks.ts'
import { chargeChecks, reportChecks } from './charge-checks.ts'
import type { BackendCheck } from './check.ts'
import { payoutChecks } from './payout-checks.ts'
import { rateChecks } from './rate-checks.ts'
import { reviewChecks } from './review-checks.ts'
import { transferChecks } from './transfer-checks.ts'
import { walletChecks } from './wallet-checks.ts'

export const backendChecks: readonly BackendCheck[] = [
  ...accessChecks,
  ...chargeChecks,
  ...reportChecks,
  ...walletChecks,
  ...cardChecks,
  ...payoutChecks,
  ...transferChecks,
  ...billChecks,
  ...reviewChecks,
  ...rateChecks,
]
