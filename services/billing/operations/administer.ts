// Changes by operators: the catalogue, and payments without an answer; every change is audited.
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { type Actor, type Approval, rejectWaiting } from '#platform/approvals/approval-store.ts'
import { type Execute, requestApproval, type Within } from '#platform/approvals/approvals.ts'
import type { Queryable } from '#platform/db/db.ts'
import type { Bill, BillEnd } from '../domain/bill.ts'
import { type Biller, checkProduct, type Product } from '../domain/catalogue.ts'
import { insertAudit } from '../store/audit-store.ts'
import { type EndDraft, findByTransaction, writeEnds } from '../store/bill-store.ts'
import { putBiller, putProduct } from '../store/catalogue-store.ts'
import { enquireAgain, lockReview } from '../store/review-store.ts'
import { writeBillEnd } from './outcome.ts'
import type { Billing } from './pay.ts'

/** Makes or changes a biller. */
export async function changeBiller(
  { db }: Pick<Billing, 'db'>,
  actor: Actor,
  biller: Biller,
): Promise<void> {
  await db.transaction(async (tx) => {
    await putBiller(tx, biller)
    await insertAudit(tx, { ...actor, action: 'put_biller', target: biller.billerCode })
  })
}

/** Makes or changes a product. Throws INVALID_PARAMETER and BILLER_NOT_FOUND. */
export async function changeProduct(
  { db }: Pick<Billing, 'db'>,
  actor: Actor,
  product: Product,
): Promise<void> {
  checkProduct(product)
  const { billerCode, productCode } = product
  await db.transaction(async (tx) => {
    if (!(await putProduct(tx, product))) {
      throw new Failure('BILLER_NOT_FOUND', 'there is no such biller')
    }
    await insertAudit(tx, {
      ...actor,
      action: 'put_product',
      target: `${billerCode}/${productCode}`,
    })
  })
}

/** What a person found out about a payment. */
export type Finding = { kind: 'paid' } | { kind: 'failed'; failureCode: string }

/** A finding, or that the biller is to be asked again. */
export type Decision = Finding | { kind: 'again' }

/** Which payment. */
type PaymentKey = { projectId: string; transactionId: string }

/** A finding in the words of approvals; failure codes have no small letters. */
const paidOutcome = 'paid'

/**
 * Requests that a second person approves what one found out about a payment that waits. Throws BILL_PAYMENT_NOT_FOUND,
 * REVIEW_NOT_FOUND and APPROVAL_OPEN.
 */
export async function requestResolution(
  { db }: Pick<Billing, 'db'>,
  actor: Actor,
  { projectId, transactionId }: PaymentKey,
  finding: Finding,
  note: string,
): Promise<{ bill: Bill; approval: Approval }> {
  const bill = await findKnown(db, projectId, transactionId)
  if (bill.state !== 'review') throw notInReview()
  const { amountMinor, currency, billPaymentId: target } = bill
  const outcome = finding.kind === 'paid' ? paidOutcome : finding.failureCode
  const subject = { projectId, subjectId: transactionId, amountMinor, currency }
  const approval = await db.transaction(async (tx) => {
    const requested = await requestApproval(tx, actor, { ...subject, outcome, note })
    if (requested.isNew) {
      await insertAudit(tx, { ...actor, action: `request_${finding.kind}`, target, note })
    }
    return requested.approval
  })
  return { bill, approval }
}

/** Creates the executor of approved findings. It rejects as `resolveReview` does. */
export function executeResolution(billing: Billing): Execute {
  return async ({ projectId, subjectId: transactionId, outcome, note }, actor, within) => {
    const payment = { projectId, transactionId }
    const finding: Finding =
      outcome === paidOutcome ? { kind: 'paid' } : { kind: 'failed', failureCode: outcome }
    await resolveReview(billing, actor, payment, finding, note, within)
  }
}

/**
 * Decides a payment that waits for a person, in transactions that `within` runs; when the biller is to be asked again, a
 * request that waits for a second person is rejected. Throws BILL_PAYMENT_NOT_FOUND and REVIEW_NOT_FOUND.
 */
export async function resolveReview(
  billing: Billing,
  actor: Actor,
  payment: PaymentKey,
  decision: Decision,
  note: string,
  within: Within = (work) => billing.db.transaction(work),
): Promise<Bill> {
  const { db } = billing
  const { projectId, transactionId } = payment
  const leaseToken = randomId()
  const { billPaymentId } = await findKnown(db, projectId, transactionId)
  const inReview = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> =>
    within(async (tx) => {
      // The approval before the payment, as an approval locks them.
      if (decision.kind === 'again') {
        await rejectWaiting(tx, { projectId, subjectId: transactionId }, actor, note)
      }
      const target = await lockReview(tx, projectId, transactionId, leaseToken)
      if (target === undefined) throw notInReview()
      await insertAudit(tx, { ...actor, action: `review_${decision.kind}`, target, note })
      return work(tx)
    })
  if (decision.kind === 'again') {
    await inReview((tx) => enquireAgain(tx, billPaymentId, leaseToken))
    billing.notifyEnquiries()
  } else {
    // A receipt id that another payment has aborts the transaction: with the next one, all of it runs again.
    const writeEnd = (draft: EndDraft) => inReview(async (tx) => (await writeEnds(tx, [draft]))[0])
    const end = endBy(decision)
    const draft = { billPaymentId, leaseToken, end, isPosted: false }
    await writeBillEnd({ ...billing, writeEnd }, draft)
    billing.notifyOutcomes()
  }
  return findKnown(db, projectId, transactionId)
}

async function findKnown(db: Queryable, projectId: string, transactionId: string): Promise<Bill> {
  const bill = await findByTransaction(db, projectId, transactionId)
  if (bill !== undefined) return bill
  throw new Failure('BILL_PAYMENT_NOT_FOUND', 'there is no such bill payment')
}

function notInReview(): Failure {
  return new Failure('REVIEW_NOT_FOUND', 'the payment does not wait for a person')
}

function endBy(decision: Finding): BillEnd {
  if (decision.kind === 'paid') return { state: 'succeeded', providerReference: '' }
  const { failureCode } = decision
  return { state: 'failed', failureCode, retryCategory: 'CONDITIONAL', providerReference: '' }
}
