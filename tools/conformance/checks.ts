// Every check of the contract, in the order of the report.
import { accountChecks } from './account-checks.ts'
import { billChecks } from './bill-checks.ts'
import type { Check } from './check.ts'
import { edgeChecks } from './edge-checks.ts'
import { headerChecks } from './header-checks.ts'
import { onboardingChecks } from './onboarding-checks.ts'
import { outcomeChecks } from './outcome-checks.ts'
import { openChecks } from './page-checks.ts'
import { paymentChecks } from './payment-checks.ts'
import { pushChecks } from './push-checks.ts'
import { quoteChecks } from './quote-checks.ts'
import { refusalChecks } from './refusal-checks.ts'
import { routeChecks } from './route-checks.ts'
import { transferChecks } from './transfer-checks.ts'

export const checks: readonly Check[] = [
  ...edgeChecks,
  ...headerChecks,
  ...routeChecks,
  ...refusalChecks,
  ...paymentChecks,
  ...outcomeChecks,
  ...pushChecks,
  ...openChecks,
  ...accountChecks,
  ...onboardingChecks,
  ...quoteChecks,
  ...transferChecks,
  ...billChecks,
]

/** The checks whose name holds the pattern; a star stands for anything. */
export function byPattern<C extends { name: string }>(
  checks: readonly C[],
  pattern: string | undefined,
): C[] {
  if (pattern === undefined) return [...checks]
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
  const wanted = new RegExp(parts.join('.*'))
  return checks.filter(({ name }) => wanted.test(name))
}
