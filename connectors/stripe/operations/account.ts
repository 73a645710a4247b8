// The account at Stripe that a connector works with.
import type { StripeCalls } from '../ports/stripe.ts'

/** An account, and what the pages of its card form need. */
export type StripeAccount = {
  stripe: StripeCalls
  /** Of the same mode as the secret key; anybody may see it. */
  publishableKey: string
  /** Where browsers reach the card form, without a slash at the end. */
  publicUrl: string
  /** Origin of the payers' pages, which alone may show the card form. */
  checkoutOrigin: string
}
