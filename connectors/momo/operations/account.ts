// The account at MTN that a connector works with.
import type { Momo } from '../ports/momo.ts'

/** An account has one currency: that of its country, EUR in the sandbox. */
export type MomoAccount = { momo: Momo; currency: string }
