// The seven routes under /account; it must not hold one itself.
import { accountMoneyRoutes } from './account-money.ts'
import { accountProfileRoutes } from './account-profiles.ts'
import { accountSessionRoutes } from './account-sessions.ts'

/** Look-ups, profiles, and what is on an account. */
export const accountRoutes = [
  ...accountSessionRoutes,
  ...accountProfileRoutes,
  ...accountMoneyRoutes,
]
