// A run of bill payments: clients, billing with its claims and enquiries, the ledger with its holds and postings, and a biller.
import { checkLedger } from '../../../services/accounts/ledger/workers/check.ts'
import { billPlanOf } from '../plan.ts'
import type { Server } from '../postgres/server.ts'
import { createSimulation, endRun, type Result, runToRest, type Simulation } from '../simulation.ts'
import { type Accounts, startAccounts } from './accounts.ts'
import { startBiller } from './biller.ts'
import { startBillingProcess } from './billing.ts'
import { findBroken } from './checks.ts'
import { startClients } from './clients.ts'

const unfinishedText = `
  select (select count(*) from billing.bill_payment where state in ('claimed', 'pending') or settle_time is not null)
    + (select count(*) from billing.abandoned_hold) + (select count(*) from accounts.internal_unfolded) as n`

/** Runs a seed. */
export async function runBills(server: Server, seed: number): Promise<Result> {
  const plan = billPlanOf(seed)
  const simulation = await createSimulation(server, seed, plan)
  const biller = startBiller(simulation)
  const accounts = Array.from({ length: plan.accounts }, (_, n) =>
    startAccounts(simulation, `accounts-${n + 1}`),
  )
  const billings = Array.from({ length: plan.billings }, (_, n) =>
    startBillingProcess(simulation, `billing-${n + 1}`, { accounts, biller }),
  )
  const clients = startClients(simulation, accounts, billings)
  const members = [...accounts, ...billings]
  const hasEnded = await runToRest(simulation, members, async () => {
    if (!clients.hasEnded()) return false
    const [row] = await server.read<{ n: bigint }>(unfinishedText)
    return row?.n === 0n
  })
  const findings = await check(simulation, accounts)
  const { executions } = biller
  const left = { ...clients, executions, findings, unexpected: simulation.unexpected, hasEnded }
  return endRun(simulation, members, await findBroken(server, left))
}

/** Runs the ledger's own check in one of its processes. */
async function check({ scheduler }: Simulation, accounts: readonly Accounts[]): Promise<string[]> {
  const { process, db } = scheduler.random.pick(accounts)
  let findings: string[] | undefined
  const run = async (): Promise<void> => {
    try {
      const result = await checkLedger(db())
      findings = result.findings.map(({ rule, description }) => `${rule}: ${description}`)
    } catch {
      // It may still be cut off from the database.
      scheduler.after(1_000, run, process)
    }
  }
  scheduler.after(0, run, process)
  await scheduler.run(() => findings !== undefined, scheduler.nowMs() + 120_000)
  return findings ?? ['the ledger was not checked']
}
