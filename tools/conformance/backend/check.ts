// The type of a check of a back end, what it works with, and what several checks share.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, ConnectError } from '@connectrpc/connect'
import { Failure, type RpcStatus, reasons } from '#core/errors/errors.ts'
import { formatAmount } from '#core/money/money.ts'
import type { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { ChargeChannel, type ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import type { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import type { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import type { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import type { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import type { Identity } from '#platform/rpc/auth/identity.ts'
import { statusName } from '#platform/rpc/errors.ts'
import { eventually } from '../../../clients/cli/api/eventually.ts'
import { demand, Unmet } from '../check.ts'
import type { OutcomeMap, OutcomeName, Outcomes } from './outcome-map.ts'
import type { GotReport, Reports } from './reports.ts'

/** The clients of a back end's services, each with the identity of the process that calls it. */
export type BackendClients = {
  charges: Client<typeof ChargeService>
  payouts: Client<typeof PayoutService>
  reviews: Client<typeof ReviewService>
  transfers: Client<typeof TransferService>
  bills: Client<typeof BillerService>
  rates: Client<typeof RateService>
}

/** What a check works with. */
export type CheckContext = BackendClients & {
  map: OutcomeMap
  /** The test values of an outcome that the check needs. */
  outcome<N extends OutcomeName>(name: N): Outcomes[N]
  reports: Reports
  /** Clients whose calls carry other credentials. */
  chargesAs(identity: Pick<Identity, 'authorization'>): Client<typeof ChargeService>
  identityOf(process: string): Pick<Identity, 'authorization'>
  /** Origin of the pages that show card forms. */
  pagesOrigin: string
  /** Where the back end shows what it executed; undefined when nobody said. */
  executionsUrl: string | undefined
  /** What fills in forms that a script makes; undefined when nobody said. */
  formsUrl: string | undefined
  signal: AbortSignal
}

/** An outcome, or several of which one is enough. */
export type Need = OutcomeName | readonly OutcomeName[]

/** One rule of `payweave.backend.v1`, and what shows that a back end keeps it. */
export type BackendCheck = {
  /** Group and name, as `--only` takes them. */
  name: string
  /** The rule, in words. */
  rule: string
  /** What the back end must be able to produce. */
  needs: readonly Need[]
  run(context: CheckContext): Promise<void>
}

/** Makes the checks of one group. */
export function backendGroup(group: string) {
  return (
    name: string,
    rule: string,
    needs: readonly Need[],
    run: (context: CheckContext) => Promise<void>,
  ): BackendCheck => ({ name: `${group}/${name}`, rule, needs, run })
}

/** A new reference whose reports are accepted. */
export function newReference({ reports }: CheckContext): string {
  const id = randomUUID()
  reports.expect(id)
  return id
}

/** The amount that is paid, refunded and paid out. */
export function amountOf({ map }: CheckContext) {
  return { currency: map.currency, minorUnits: BigInt(map.amount_minor_units) }
}

type Amount = ReturnType<typeof amountOf>

/** The amount as executions show it. */
export function shownAmount({ map }: CheckContext, minorUnits = BigInt(map.amount_minor_units)) {
  return { amount: formatAmount(minorUnits, map.currency), currency: map.currency }
}

/** An amount that is one minor unit higher. */
export const more = (amount: Amount): Amount => ({
  ...amount,
  minorUnits: amount.minorUnits + 1n,
})

/** A charge of a payer, to announce, which may be paid for an hour, or for the seconds that are given. */
export function newCharge(
  context: CheckContext,
  payer: { mobile_number: string },
  payableS = 3_600,
) {
  const end = Math.floor(Date.now() / 1_000) + payableS
  return {
    chargeId: newReference(context),
    amount: amountOf(context),
    mobileNumber: payer.mobile_number,
    channel: ChargeChannel.PAYMENT_LINK,
    businessName: 'Conformance',
    cashCode: '',
    expireTime: { seconds: BigInt(end), nanos: 0 },
  }
}

/** Announces one charge and returns its reference. */
export async function announce(
  context: CheckContext,
  payer: { mobile_number: string },
): Promise<string> {
  const charge = newCharge(context, payer)
  await context.charges.announceCharges({ charges: [charge] })
  return charge.chargeId
}

/** Any payer: the check calls for no payment. */
export const anyPayer: Need = ['charge.paid', 'wallet.paid', 'wallet.processing', 'card.form']

/** The payer of `anyPayer`. */
export function somePayer({ map: { outcomes } }: CheckContext) {
  const payer =
    outcomes['charge.paid'] ??
    outcomes['wallet.paid'] ??
    outcomes['wallet.processing'] ??
    outcomes['card.form']
  if (payer === undefined) throw new Error('the check does not say that it needs a payer')
  return payer
}

/** A wallet that pays: answered PAID at once, or PROCESSING first. */
export const payingWallet: Need = ['wallet.paid', 'wallet.processing']

/** The payer and PIN of a wallet that pays. */
export function walletThatPays({ map }: CheckContext) {
  const { 'wallet.paid': atOnce, 'wallet.processing': later } = map.outcomes
  const payer = atOnce ?? later
  if (payer === undefined) throw new Error('the check does not say that it needs a paying wallet')
  return payer
}

/** Waits until `ask` returns something, as long as an outcome may take. */
export async function within<T>(
  { map, signal }: CheckContext,
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const withinMs = map.outcome_within_ms
  try {
    return await eventually(what, async () => await ask(), { withinMs, signal })
  } catch (error) {
    if (signal.aborted || error instanceof Failure) throw error
    throw new Unmet(error instanceof Error ? error.message : String(error))
  }
}

/** Waits until a report with this outcome was accepted, then as long as one that contradicts it may take. */
export async function reported(
  context: CheckContext,
  id: string,
  outcome: string,
): Promise<GotReport> {
  const isIt = (report: GotReport) => report.accepted && report.outcome === outcome
  const found = await within(context, `no report ${outcome} about ${id}`, () =>
    context.reports.of(id).find(isIt),
  )
  await delay(context.map.settle_ms, undefined, { signal: context.signal })
  demandCoherent(context.reports.of(id))
  return found
}

/** A refund that comes back was completed: that is no second outcome. */
const isFinal = ({ outcome }: GotReport) => outcome !== 'PROCESSING' && outcome !== 'RETURNED'

/** Fails when reports about one reference contradict each other, or the money moved twice. */
export function demandCoherent(reports: readonly GotReport[]): void {
  const attempts = Map.groupBy(reports, ({ attemptId }) => attemptId)
  for (const [attemptId, own] of attempts) {
    const finals = [...new Set(own.filter(isFinal).map(({ outcome }) => outcome))]
    const what = attemptId === '' ? 'it' : `attempt ${attemptId}`
    demand(finals.length < 2, `${what} was reported with two outcomes: ${finals.join(', ')}`)
    const firstFinal = own.findIndex(isFinal)
    const firstProcessing = own.findIndex(({ outcome }) => outcome === 'PROCESSING')
    demand(
      firstFinal < 0 || firstProcessing < firstFinal,
      `${what} was first reported PROCESSING after its final outcome`,
    )
  }
  const comesBack = reports.findIndex(({ outcome }) => outcome === 'RETURNED')
  const completed = reports.findIndex(({ outcome }) => outcome === 'COMPLETED')
  const isReturn = comesBack < 0 || (completed >= 0 && completed < comesBack)
  demand(isReturn, 'it was reported RETURNED and not COMPLETED before')
  const paid = [...attempts.values()].filter((own) => own.some(({ outcome }) => outcome === 'PAID'))
  demand(paid.length < 2, `the charge was paid ${paid.length} times, by different attempts`)
}

/** The gRPC status that a call ended with; "ok" when it was answered. */
export async function statusOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'ok'
  } catch (error) {
    return statusOfError(error)
  }
}

/** The gRPC status of what a client rejected with: the code that was sent, or the one of the reason. */
export function statusOfError(error: unknown): string {
  if (!(error instanceof Failure)) return 'internal'
  if (error.cause instanceof ConnectError) return statusName(error.cause.code)
  return reasons[error.reason].rpc
}

/** Fails unless the call is refused with this gRPC status. */
export async function demandStatus(
  call: Promise<unknown>,
  status: RpcStatus,
  what: string,
): Promise<void> {
  const found = await statusOf(call)
  demand(found === status, `${what}: answered ${found}, not ${status}`)
}

/** Fails unless a call is refused because its id was used with other content. */
export function demandConflict(call: Promise<unknown>): Promise<void> {
  return demandStatus(call, 'already_exists', 'the same id with other content')
}

/** What the back end shows of what it executed; fails when that cannot be read. */
async function executionsOf(url: string, kind: string, id: string) {
  const target = url.replace('{kind}', kind).replace('{id}', id)
  const response = await fetch(target, { signal: AbortSignal.timeout(10_000) })
  demand(response.ok, `the executions answered ${response.status}`)
  const { executions } = (await response.json()) as {
    executions: { amount: string; currency: string }[]
  }
  return executions
}

/** Whether the back end executed a reference; false without its log. */
export async function isExecuted(
  { executionsUrl }: CheckContext,
  kind: 'charge',
  id: string,
): Promise<boolean> {
  return executionsUrl !== undefined && (await executionsOf(executionsUrl, kind, id)).length > 0
}

/** Fails unless the back end executed a reference exactly `times` times, with this amount; does nothing without its log. */
export async function demandExecuted(
  { executionsUrl }: CheckContext,
  kind: 'bill' | 'transfer' | 'charge' | 'payout' | 'refund',
  id: string,
  times: number,
  amount: { amount: string; currency: string },
): Promise<void> {
  if (executionsUrl === undefined) return
  const found = await executionsOf(executionsUrl, kind, id)
  demand(found.length === times, `${kind} ${id} was executed ${found.length} times, not ${times}`)
  for (const execution of found) {
    const isAsOrdered = execution.amount === amount.amount && execution.currency === amount.currency
    demand(
      isAsOrdered,
      `${kind} ${id} was executed with ${execution.amount} ${execution.currency}, not ${amount.amount} ${amount.currency}`,
    )
  }
}
