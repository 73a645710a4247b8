// Changes by operators: the catalogue, and payments without an answer; every change is audited.
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import type { Queryable } from '#platform/db/db.ts'
import type { Bill, BillEnd } from '../domain/bill.ts'
import { type Biller, checkProduct, type Product } from '../domain/catalogue.ts'
import { type EndDraft, findByTransaction, writeEnds } from '../store/bill-store.ts'
import { insertAudit, putBiller, putProduct } from '../store/catalogue-store.ts'
import { enquireAgain, takeReview } from '../store/review-store.ts'
import { writeBillEnd } from './outcome.ts'
import type { Billing } from './pay.ts'

/** Who makes a change. */
export type Actor = { caller: string; requestId: string | undefined }

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
export type Decision =
  | { kind: 'paid' }
  | { kind: 'failed'; failureCode: string }
  | { kind: 'again' }

/**
 * Decides a payment that waits for a person. Throws BILL_PAYMENT_NOT_FOUND and REVIEW_NOT_FOUND.
 */
export async function resolveReview(
  billing: Billing,
  actor: Actor,
  payment: { projectId: string; transactionId: string },
  decision: Decision,
  note: string,
): Promise<Bill> {
  const { db } = billing
  const { projectId, transactionId } = payment
  const leaseToken = randomId()
  const { billPaymentId } = await findKnown(db, projectId, transactionId)
  const inReview = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> =>
    db.transaction(async (tx) => {
      const target = await takeReview(tx, projectId, transactionId, leaseToken)
      if (target === undefined) {
        throw new Failure('REVIEW_NOT_FOUND', 'the payment does not wait for a person')
      }
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

function endBy(decision: Exclude<Decision, { kind: 'again' }>): BillEnd {
  if (decision.kind === 'paid') return { state: 'succeeded', providerReference: '' }
  const { failureCode } = decision
  return { state: 'failed', failureCode, retryCategory: 'CONDITIONAL', providerReference: '' }
}
