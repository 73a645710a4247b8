// Posts settlements as far as the ledger takes them, and once more a refused one, or what it lacks of one payment.
import type { Client } from '@connectrpc/connect'
import type { Counter } from 'prom-client'
import { Failure } from '#core/errors/errors.ts'
import type { Settlement, SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { type Database, isRefused } from '#platform/db/db.ts'
import { actor } from '../../access/operations/change.ts'
import { insertAudit } from '../../access/store/project-store.ts'
import { findRefusal, keepRefusals, type Refusal } from '../store/backfill-store.ts'
import { postSettlements, UnpostableSettlement } from './settlement-posting.ts'

/** How many the ledger did not have, and those that it cannot take. */
type Outcome = { postedCount: number; refusals: Refusal[] }

/** Posts settlements in one transaction or, if one of them cannot be posted, each in its own. Rejects as a Queryable does. */
export async function postOrRefuse(db: Database, settlements: Settlement[]): Promise<Outcome> {
  if (settlements.length === 0) return { postedCount: 0, refusals: [] }
  try {
    const postedCount = await db.transaction((tx) => postSettlements(tx, settlements))
    return { postedCount, refusals: [] }
  } catch (error) {
    if (!(error instanceof UnpostableSettlement || isRefused(error))) throw error
    const [only] = settlements
    if (settlements.length === 1 && only !== undefined) return refusal(only, error as Error)
  }
  const outcomes: Outcome[] = []
  for (const settlement of settlements) outcomes.push(await postOrRefuse(db, [settlement]))
  return {
    postedCount: outcomes.reduce((sum, { postedCount }) => sum + postedCount, 0),
    refusals: outcomes.flatMap(({ refusals }) => refusals),
  }
}

function refusal({ settlementId, projectId }: Settlement, error: Error): Outcome {
  return { postedCount: 0, refusals: [{ settlementId, projectId, reason: error.message }] }
}

/** Dependencies of a retry: the ledger, and payments, which has the settlement. */
export type RetryOptions = {
  db: Database
  payments: Pick<Client<typeof SettlementService>, 'listSettlements'>
  posted: Counter<'by'>
}

/**
 * Posts a refused settlement once more, with an audit entry; returns why it is refused again, or undefined.
 * TRANSFER_NOT_FOUND for one that is not refused or unknown to payments.
 */
export async function retrySettlement(
  { db, payments, posted }: RetryOptions,
  settlementId: string,
): Promise<(Refusal & { refuseTime: Date }) | undefined> {
  const known = await findRefusal(db, settlementId)
  if (known === undefined) throw notRefused()
  const { settlements } = await payments.listSettlements({ settlementId })
  const settlement = settlements.find((one) => one.settlementId === settlementId)
  if (settlement === undefined) throw notRefused()
  const { postedCount, refusals } = await postOrRefuse(db, [settlement])
  const { caller, requestId } = actor()
  const { projectId } = known
  const state = refusals.length === 0 ? 'posted' : 'refused'
  await db.transaction(async (tx) => {
    await keepRefusals(tx, refusals, refusals.length === 0 ? [settlementId] : [])
    const what = { action: 'retry_settlement', targetId: settlementId, details: { state } }
    await insertAudit(tx, { caller, requestId, projectId, ...what })
  })
  posted.inc({ by: 'retry' }, postedCount)
  return refusals.length === 0 ? undefined : await findRefusal(db, settlementId)
}

/**
 * Posts what the ledger lacks of one payment, with an audit entry; returns how many those were and which it refused. PAYMENT_NOT_FOUND
 * when payments has no settlement of it.
 */
export async function postPayment(
  { db, payments, posted }: RetryOptions,
  paymentId: string,
): Promise<{ postedCount: number; refused: (Refusal & { refuseTime: Date })[] }> {
  const { settlements } = await payments.listSettlements({ paymentId })
  const [first] = settlements
  if (first === undefined) {
    throw new Failure('PAYMENT_NOT_FOUND', 'no such payment request has a settlement')
  }
  const { postedCount, refusals } = await postOrRefuse(db, settlements)
  const refusedIds = new Set(refusals.map(({ settlementId }) => settlementId))
  const known = settlements.map(({ settlementId }) => settlementId)
  const { caller, requestId } = actor()
  await db.transaction(async (tx) => {
    await keepRefusals(
      tx,
      refusals,
      known.filter((id) => !refusedIds.has(id)),
    )
    const details = { posted: String(postedCount), refused: String(refusals.length) }
    const what = { action: 'post_payment_settlements', targetId: paymentId, details }
    await insertAudit(tx, { caller, requestId, projectId: first.projectId, ...what })
  })
  posted.inc({ by: 'retry' }, postedCount)
  const refused = await Promise.all([...refusedIds].map((id) => findRefusal(db, id)))
  return { postedCount, refused: refused.filter((one) => one !== undefined) }
}

function notRefused(): Failure {
  return new Failure('TRANSFER_NOT_FOUND', 'settlement not found, or not refused')
}
