// The command line as a package: what works without a checkout, with the keys of a merchant or a bearer.
import { conformanceCommand } from '../../tools/conformance/command.ts'
import { auditCommands } from '../cli/audit.ts'
import { approvalCommands } from '../cli/billing/approvals.ts'
import { billCommands } from '../cli/billing/bills.ts'
import { catalogueCommands } from '../cli/billing/catalogue.ts'
import { deliveryCommands } from '../cli/deliveries/command.ts'
import { tailCommand } from '../cli/deliveries/tail.ts'
import { institutionCommands } from '../cli/institutions.ts'
import { keyCommands } from '../cli/keys.ts'
import { ledgerCommands } from '../cli/ledger.ts'
import { listenCommand } from '../cli/listen.ts'
import { paymentCommands } from '../cli/payments.ts'
import { projectCommands } from '../cli/projects.ts'
import { requestsCommand } from '../cli/requests/tail.ts'
import { routeCommands } from '../cli/routes.ts'
import { runCommands } from '../cli/run.ts'
import { sealCommands } from '../cli/seal.ts'
import { triggerCommand } from '../cli/trigger/command.ts'

const commands = [
  ...paymentCommands,
  tailCommand,
  ...deliveryCommands,
  listenCommand,
  triggerCommand,
  conformanceCommand,
  ...sealCommands,
  requestsCommand,
  ...projectCommands,
  ...auditCommands,
  ...keyCommands,
  ...institutionCommands,
  ...ledgerCommands,
  ...catalogueCommands,
  ...billCommands,
  ...approvalCommands,
  ...routeCommands,
]

process.exitCode = await runCommands(commands, process.argv.slice(2))
