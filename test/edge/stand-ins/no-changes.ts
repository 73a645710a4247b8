// Stands in for the changes of payments where a test is about something else.
import type { PaymentChanges } from '../../../gateway/pages/live-streams.ts'

/** Hears of no change, as without a broker. */
export const noChanges: PaymentChanges = { isLive: () => false, subscribe: () => () => {} }
