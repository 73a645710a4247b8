// Proves that billers do what the sandbox promises, that a bill is paid once, and that "unknown" is final.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BillState, RetryCategory } from '#gen/payweave/backend/v1/billers_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const newBill = (customerReference: string) => ({
  billPaymentId: randomUUID(),
  billerCode: 'DEMO_POWER',
  productCode: 'PREPAID',
  amount: { currency: 'USD', minorUnits: 2500n },
  customerReference,
  customerMobileNumber: '+12025550100',
})
type Bill = Omit<ReturnType<typeof newBill>, 'billPaymentId'> & { billPaymentId: string }

const pay = async (bill: Bill, timeoutMs = 15_000) =>
  (await harness.bills.payBill(bill, { timeoutMs })).outcome
const enquire = async ({ billPaymentId }: Pick<Bill, 'billPaymentId'>) =>
  (await harness.bills.enquireBill({ billPaymentId })).outcome

type Shown = { id: string; amount: string; currency: string; executed_time: string }
async function executionsOf({ billPaymentId }: Bill): Promise<Shown[]> {
  const response = await fetch(`${harness.publicUrl}/executions?kind=bill&id=${billPaymentId}`)
  return ((await response.json()) as { executions: Shown[] }).executions
}

const unanswered = { reason: 'TIMEOUT' }
const refusedForEver = { reason: 'REFERENCE_REFUSED' }

describe('a biller', () => {
  it('a biller takes a bill at once, and the log shows its one execution', async () => {
    const bill = newBill('12345678')
    const outcome = await pay(bill)
    expect(outcome).toMatchObject({ state: BillState.PAID, failureCode: '', retryCategory: 0 })
    expect(outcome?.providerReference).toMatch(/^[0-9A-Za-z]{24}$/)
    expect(await executionsOf(bill)).toEqual([
      expect.objectContaining({ id: bill.billPaymentId, amount: '25.00', currency: 'USD' }),
    ])
  })

  it.each([
    ['12340402', 'CUSTOMER_REFERENCE_REJECTED'],
    ['W1230409', 'BILL_ALREADY_PAID'],
  ])('a biller refuses reference %s with %s, for good', async (reference, failureCode) => {
    const bill = newBill(reference)
    const refused = { state: BillState.REFUSED, failureCode }
    const retryCategory = RetryCategory.NON_RETRIABLE
    const first = await pay(bill)
    expect(first).toMatchObject({ ...refused, retryCategory })
    expect(await pay(bill)).toEqual(first)
    const other = pay({ ...bill, customerReference: '12345678' }).catch((error: unknown) => error)
    expect(await other).toMatchObject({ reason: 'REFERENCE_CONFLICT' })
    expect(await enquire(bill)).toEqual(first)
    expect(await executionsOf(bill)).toEqual([])
  })

  it('a biller answers for reference 0408 after five seconds; until then the bill is pending', async () => {
    const bill = newBill('12340408')
    const startedMs = Date.now()
    const paying = pay(bill)
    await eventually(async () => expect((await executionsOf(bill)).length).toBe(0))
    expect(await pay(bill, 300).catch((error: unknown) => error)).toMatchObject(unanswered)
    expect((await enquire(bill))?.state).toBe(BillState.PENDING)
    const outcome = await paying
    expect(outcome?.state).toBe(BillState.PAID)
    expect(Date.now() - startedMs).toBeGreaterThanOrEqual(5_000)
    expect(await pay(bill)).toEqual(outcome)
    expect(await executionsOf(bill)).toHaveLength(1)
  })

  it('a biller does not answer for reference 0504, and the first enquiry finds the bill paid', async () => {
    const bill = newBill('12340504')
    await expect(pay(bill, 400)).rejects.toMatchObject(unanswered)
    await expect(pay(bill, 400)).rejects.toMatchObject(unanswered)
    const outcome = await enquire(bill)
    expect(outcome?.state).toBe(BillState.PAID)
    expect(await pay(bill)).toEqual(outcome)
    expect(await executionsOf(bill)).toHaveLength(1)
  })

  it('a biller does not answer for reference 0404, and an enquiry ends it for ever', async () => {
    const bill = newBill('12340404')
    await expect(pay(bill, 400)).rejects.toMatchObject(unanswered)
    expect(await enquire(bill)).toMatchObject({ state: BillState.NOT_FOUND, providerReference: '' })
    await expect(pay(bill)).rejects.toMatchObject(refusedForEver)
    await expect(pay({ ...bill, customerReference: '12345678' })).rejects.toMatchObject(
      refusedForEver,
    )
    expect(await executionsOf(bill)).toEqual([])
  })

  it('a biller never pays a bill that it once called unknown, over a restart too', async () => {
    const bill = newBill('12345678')
    expect((await enquire(bill))?.state).toBe(BillState.NOT_FOUND)
    await harness.restart()
    expect((await enquire(bill))?.state).toBe(BillState.NOT_FOUND)
    await expect(pay(bill)).rejects.toMatchObject(refusedForEver)
    expect(await executionsOf(bill)).toEqual([])
  })
})

describe('a bill that is sent again', () => {
  it('a bill that is sent thirty times at once is paid once, with one outcome for all', async () => {
    const bill = newBill('87654321')
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => pay(bill)))
    expect(new Set(outcomes.map((outcome) => outcome?.providerReference)).size).toBe(1)
    expect(await executionsOf(bill)).toHaveLength(1)
  })

  it('a bill that is sent again while enquiries race with it is either paid or unknown for ever', async () => {
    for (let round = 0; round < 20; round += 1) {
      const bill = newBill('87654321')
      const [paid, ...enquiries] = await Promise.all([
        pay(bill).catch((error: unknown) => error),
        ...Array.from({ length: 3 }, () => enquire(bill)),
      ])
      const ended = (await enquire(bill))?.state
      const wasUnknown = enquiries.some((outcome) => outcome?.state === BillState.NOT_FOUND)
      expect(ended).toBe(wasUnknown ? BillState.NOT_FOUND : BillState.PAID)
      expect(paid).toMatchObject(wasUnknown ? refusedForEver : { state: BillState.PAID })
      expect(await executionsOf(bill)).toHaveLength(wasUnknown ? 0 : 1)
    }
  })

  it('a bill that is sent again after a restart in the middle of its payment is paid once', async () => {
    const bill = newBill('12340408')
    const paying = pay(bill).catch((error: unknown) => error)
    // An enquiry that came first would make it unknown for ever.
    await eventually(async () => expect(await harness.knowsBill(bill.billPaymentId)).toBe(true))
    expect((await enquire(bill))?.state).toBe(BillState.PENDING)
    await harness.restart()
    expect(await paying).toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
    harness.testClock.advance(5_000)
    expect((await pay(bill))?.state).toBe(BillState.PAID)
    expect(await executionsOf(bill)).toHaveLength(1)
  })
})

it.each([
  ['INVALID_PARAMETER', 'bill_payment_id', { billPaymentId: 'x' }],
  ['MISSING_PARAMETER', 'biller_code', { billerCode: '' }],
  ['MISSING_PARAMETER', 'product_code', { productCode: '' }],
  ['INVALID_PARAMETER', 'amount', { amount: { currency: 'USD', minorUnits: 0n } }],
  ['INVALID_PARAMETER', 'amount', { amount: { currency: 'XXX', minorUnits: 1n } }],
  ['INVALID_PARAMETER', 'customer_reference', { customerReference: 'a\u0000b' }],
])('a bill is refused with %s %s', async (reason, field, fault) => {
  await expect(pay({ ...newBill('12345678'), ...fault })).rejects.toMatchObject({
    reason,
    details: { field },
  })
})

it.each(['', '?kind=bill', '?kind=charge&id=x', '?kind=loan', '?kind=bill&id=x'])(
  'the log asked with "%s" answers 400',
  async (query) => {
    expect((await fetch(`${harness.publicUrl}/executions${query}`)).status).toBe(400)
  },
)
