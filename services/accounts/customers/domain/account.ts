// A customer's account and its state machine. Pure.
import type { Machine } from '#core/machine.ts'

/** State of an account. Look-ups find it from `available` on. */
export type AccountStatus = 'pending_review' | 'available' | 'rejected' | 'suspended' | 'closed'

/** What can happen to an account. */
type AccountEvent = 'complete' | 'reject' | 'suspend' | 'resume' | 'close'

/** Which state follows which; a trigger of the table repeats it. */
export const accountMachine = {
  pending_review: { complete: 'available', reject: 'rejected' },
  available: { suspend: 'suspended', close: 'closed' },
  suspended: { resume: 'available', close: 'closed' },
  rejected: {},
  closed: {},
} as const satisfies Machine<AccountStatus, AccountEvent>

/** What the holder may do with the money. */
export type FundsAccess = 'none' | 'limited' | 'full'

/** An account of a customer at an institution. */
export type Account = {
  accountId: string
  institutionId: string
  institutionName: string
  /** Null until its review ends well. */
  accountNumber: string | null
  accountType: string
  /** E.164 with plus sign. */
  mobileNumber: string
  email: string
  firstName: string
  lastName: string
  country: string
  currency: string
  status: AccountStatus
  /** Level of its limits: 0, 1 or 2. */
  level: number
  fundsAccess: FundsAccess
}

/** An artefact as it is listed to the back end. */
export type ListedArtefact = {
  artefactId: string
  field: string
  mediaType: string
  sizeBytes: bigint
}
