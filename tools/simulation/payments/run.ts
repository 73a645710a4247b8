// A run of payments: merchants and payers, payments with its tasks and enquiries, connectors, and the ledger that posts the money.
import type { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { planOf } from '../plan.ts'
import type { Server } from '../postgres/server.ts'
import { type Callee, inboxClientOf } from '../rpc.ts'
import { createSimulation, endRun, type Result, runToRest } from '../simulation.ts'
import { findBroken } from './checks.ts'
import { startClients } from './clients.ts'
import { startConnector } from './connector.ts'
import { startLedger } from './ledger.ts'
import { calleesOf, startPaymentsProcess } from './payments.ts'
import { connectorNames } from './routes.ts'

/** What must have ended. A payout that waits for its day stays. */
const unfinishedText = `
  select (select count(*) from payments.task where done_time is null)
    + (select count(*) from payments.attempt where next_enquiry_time is not null)
    + (select count(*) from payments.payment where state in ('Pending', 'Partially_paid'))
    + (select count(*) from payments.payer where state = 'Processing')
    + (select count(*) from payments.payee where payout_state = 'sent')
    + (select count(*) from payments.refund where state = 'sent')
    + (select count(*) from payments.outbox where confirmed_at is null) as n`

/** Runs a seed. */
export async function runPayments(server: Server, seed: number): Promise<Result> {
  const plan = planOf(seed)
  const simulation = await createSimulation(server, seed, plan)
  const reports: Callee<typeof ChargeReportService>[] = []
  const connectors = connectorNames.map((name) => startConnector(simulation, name, reports))
  const ledgers = Array.from({ length: plan.accounts }, (_, n) =>
    startLedger(simulation, `accounts-${n + 1}`),
  )
  const processes = Array.from({ length: plan.producers }, (_, n) =>
    startPaymentsProcess(simulation, `payments-${n + 1}`, {
      connectors,
      timeToPayS: plan.timeToPayS,
      ledger: (process) => inboxClientOf(simulation, ledgers, process),
    }),
  )
  reports.push(...calleesOf(processes, (services) => services.reports))
  const clients = startClients(simulation, {
    payments: calleesOf(processes, ({ payments }) => payments),
    checkouts: calleesOf(processes, ({ checkouts }) => checkouts),
    connectors,
  })
  const members = [...processes, ...ledgers]
  const hasEnded = await runToRest(simulation, members, async () => {
    if (!clients.hasEnded() || !connectors.every((one) => one.isQuiet())) return false
    const [row] = await server.read<{ n: bigint }>(unfinishedText)
    return row?.n === 0n
  })
  const { orders } = clients
  const left = { orders, connectors, unexpected: simulation.unexpected, hasEnded }
  return endRun(simulation, members, await findBroken(server, left))
}
