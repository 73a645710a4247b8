// The command line of a checkout and of the image: all commands.
import { backendConformanceCommand } from '../../tools/conformance/backend/command.ts'
import { conformanceCommand } from '../../tools/conformance/command.ts'
import { auditCommands } from './audit.ts'
import { approvalCommands } from './billing/approvals.ts'
import { billCommands } from './billing/bills.ts'
import { catalogueCommands } from './billing/catalogue.ts'
import { bootstrapCommands } from './bootstrap.ts'
import { clockCommand } from './clock.ts'
import type { Command } from './command.ts'
import { deliveryCommands } from './deliveries/command.ts'
import { tailCommand } from './deliveries/tail.ts'
import { institutionCommands } from './institutions.ts'
import { keyCommands } from './keys.ts'
import { ledgerCommands } from './ledger.ts'
import { listenCommand } from './listen.ts'
import { doctorCommand } from './machine/doctor.ts'
import { statusCommand } from './machine/status.ts'
import { merchantCommands } from './merchants.ts'
import { migrationCommands } from './migrations.ts'
import { paymentCommands } from './payments.ts'
import { projectCommands } from './projects.ts'
import { requestsCommand } from './requests/tail.ts'
import { restoreCommands } from './restore/command.ts'
import { keyListCommands } from './rotation/command.ts'
import { routeCommands } from './routes.ts'
import { runCommands, type Surroundings } from './run.ts'
import { sandboxResetCommand } from './sandbox.ts'
import { sealCommands } from './seal.ts'
import { triggerCommand } from './trigger/command.ts'

const commands: Command[] = [
  ...paymentCommands,
  tailCommand,
  ...deliveryCommands,
  listenCommand,
  ...projectCommands,
  ...auditCommands,
  ...keyCommands,
  ...keyListCommands,
  ...merchantCommands,
  ...institutionCommands,
  ...ledgerCommands,
  ...catalogueCommands,
  ...billCommands,
  ...approvalCommands,
  ...routeCommands,
  doctorCommand,
  statusCommand,
  triggerCommand,
  sandboxResetCommand,
  clockCommand,
  ...bootstrapCommands,
  backendConformanceCommand,
  conformanceCommand,
  ...migrationCommands,
  ...restoreCommands,
  requestsCommand,
  ...sealCommands,
]

/** Runs what was typed; resolves to the exit code: 0 done, 1 failed, 2 used wrongly. Never rejects: an error is printed. */
export function runCommandLine(words: string[], around: Surroundings = process): Promise<number> {
  return runCommands(commands, words, around)
}
