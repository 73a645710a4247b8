// The list of the seven routes under /account.
import { accountMoneyRoutes } from './money.ts'
import { accountProfileRoutes } from './profiles.ts'
import { accountSessionRoutes } from './sessions.ts'

/** Look-ups, profiles, and what is on an account. */
export const accountRoutes = [
  ...accountSessionRoutes,
  ...accountProfileRoutes,
  ...accountMoneyRoutes,
]
