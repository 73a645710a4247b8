// The commands that work without a checkout, with the keys of a merchant or a bearer.
import { conformanceCommand } from '../../tools/conformance/command.ts'
import { auditCommands } from './audit.ts'
import { approvalCommands } from './billing/approvals.ts'
import { billCommands } from './billing/bills.ts'
import { catalogueCommands } from './billing/catalogue.ts'
import { clockCommand } from './clock.ts'
import type { Command } from './command.ts'
import { deliveryCommands } from './deliveries/command.ts'
import { pauseCommands } from './deliveries/pauses.ts'
import { replayCommands } from './deliveries/replays.ts'
import { tailCommand } from './deliveries/tail.ts'
import { institutionCommands } from './institutions.ts'
import { keyCommands } from './keys.ts'
import { ledgerCommands } from './ledger.ts'
import { listenCommand } from './listen/command.ts'
import { statusCommand } from './machine/status.ts'
import { merchantCommands } from './merchants/command.ts'
import { accountCommands } from './operations/account-money.ts'
import { eventDeadLettersCommand } from './operations/dead-letters.ts'
import { decisionCommands } from './operations/decisions.ts'
import { ledgerListCommands } from './operations/ledger-lists.ts'
import { onboardingFileCommand } from './operations/onboarding-file.ts'
import { projectListCommands } from './operations/project-lists.ts'
import { staffListCommands } from './operations/staff-lists.ts'
import { stuckCommands } from './operations/stuck.ts'
import { paymentCommands } from './payments/command.ts'
import { projectCommands } from './projects.ts'
import { requestsCommand } from './requests/tail.ts'
import { routeCommands } from './routes.ts'
import { sandboxResetCommand } from './sandbox.ts'
import { sealCommands } from './seal/command.ts'
import { triggerCommand } from './trigger/command.ts'

/** What the package of the command line has. */
export const portableCommands: readonly Command[] = [
  ...paymentCommands,
  ...accountCommands,
  tailCommand,
  eventDeadLettersCommand,
  ...deliveryCommands,
  ...pauseCommands,
  ...replayCommands,
  listenCommand,
  triggerCommand,
  conformanceCommand,
  ...sealCommands,
  requestsCommand,
  statusCommand,
  sandboxResetCommand,
  clockCommand,
  ...projectCommands,
  ...merchantCommands,
  ...auditCommands,
  ...keyCommands,
  ...institutionCommands,
  ...ledgerCommands,
  ...catalogueCommands,
  ...billCommands,
  ...approvalCommands,
  ...routeCommands,
  ...ledgerListCommands,
  ...projectListCommands,
  ...staffListCommands,
  ...stuckCommands,
  ...decisionCommands,
  onboardingFileCommand,
]
