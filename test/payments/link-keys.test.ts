// Shows that payers' links and cash codes stay what they were while link.key rotates.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PayerState, PaymentChannel, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import { sql } from '#platform/db/db.ts'
import { countPage } from '#platform/keys/dependants.ts'
import { linkDependants } from '../../services/payments/store/link-key-store.ts'
import { eventually } from '../support/eventually.ts'
import { testKeys } from '../support/keys.ts'
import { at, type Harness, payer, refusal, startHarness, states } from './harness.ts'

const keys = testKeys('untimed')
const agent = { paymentChannel: PaymentChannel.AGENT, paymentMethod: PaymentMethod.CASH }
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({}, keys)
})
afterAll(() => harness.stop())

const forgetKeyId = sql(
  'test_no_key_id',
  'update payer set link_key_id = null where payment_id = $1',
)

/** A request, and what a client sees of it each time that the very same is sent. */
async function made(payers = [payer()]) {
  const order = harness.order({ payers, amountMinor: 10_000n })
  const send = async () => {
    const { payment } = await harness.payments.createPayment(order)
    if (payment === undefined) throw new Error('the answer is empty')
    return payment
  }
  const payment = await send()
  return { payment, links: linksOf(payment), again: async () => linksOf(await send()) }
}

const linksOf = ({ payers }: { payers: { linkToken: string }[] }) =>
  payers.map(({ linkToken }) => linkToken)

async function cashCodeOf(linkToken: string | undefined) {
  const { checkout } = await harness.checkouts.getCheckout({ linkToken: linkToken ?? '' })
  return checkout?.cashCode
}

it('a repeat shows the links of its request again after later rotations', async () => {
  const ofRelease = await made()
  // As the previous release stores a payer: without the id of a key.
  await harness.db.run(forgetKeyId, [ofRelease.payment.paymentId])
  const old = await made([payer(4_000n), payer(6_000n)])
  keys.rotate()
  const fresh = await made()
  keys.rotate()
  for (const one of [ofRelease, old, fresh]) {
    expect(await one.again()).toEqual(one.links)
    const read = await harness.get(one.payment.paymentId)
    expect(linksOf(read)).toEqual(one.links)
  }
  expect(new Set([ofRelease, old, fresh].flatMap(({ links }) => links)).size).toBe(4)
})

it('a link from before a rotation is paid on after it', async () => {
  const { payment, links } = await made()
  await eventually(() => harness.backend.received.charges.has(at(payment.payers).payerId))
  keys.rotate()
  await harness.checkouts.payWithWallet({ linkToken: at(links), pin: '123456' })
  expect(states(await harness.get(payment.paymentId))).toEqual(['PAID', 'PAID'])
})

it('the cash code that an agent receives later is the one that the payer saw before', async () => {
  harness.backend.state.isDown = true
  const { payment, links } = await made([payer(0n, agent)])
  const shown = await cashCodeOf(at(links))
  expect(shown).toMatch(/^\d{12}$/)
  keys.rotate()
  expect(await cashCodeOf(at(links))).toBe(shown)
  harness.backend.state.isDown = false
  const { payerId } = at(payment.payers)
  const charge = await eventually(() => harness.backend.received.charges.get(payerId) ?? false)
  expect(charge.cashCode).toBe(shown)
})

it('open payments need the key of their links, ended ones do not', async () => {
  const open = await made([payer(4_000n), payer(6_000n)])
  const ended = await made()
  await harness.cancel(ended.payment.paymentId)
  const keyId = keys().current.keyId
  const counted = async () => {
    const page = await countPage(linkDependants(harness.db)['link.key'] ?? [], keys(), '')
    return page.dependants.find((one) => one.keyId === keyId)
  }
  const ids = open.payment.payers.map(({ payerId }) => payerId)
  const found = await counted()
  expect(found?.ids).toEqual(expect.arrayContaining(ids))
  expect(found?.ids).not.toContain(at(ended.payment.payers).payerId)
  await harness.cancel(open.payment.paymentId)
  expect((await counted())?.count ?? 0).toBe((found?.count ?? 0) - 2)
})

it('a key that is retired at once takes its links from repeats, not from payers, and codes that can be collected', async () => {
  const linked = await made()
  const cash = await made([payer(0n, agent)])
  await eventually(() => harness.backend.received.charges.has(at(cash.payment.payers).payerId))
  const collected = await made([payer(0n, agent)])
  const { payerId } = at(collected.payment.payers)
  await eventually(() => harness.backend.received.charges.has(payerId))
  await harness.report(payerId, ChargeOutcome.PAID)
  const retired = keys().current.keyId
  keys.rotate()
  keys.retire(retired)
  expect(await linked.again()).toEqual([''])
  const { checkout } = await harness.checkouts.getCheckout({ linkToken: at(linked.links) })
  expect(checkout?.businessName).toBe('Demo Store')
  expect(await refusal(harness.checkouts.getCheckout({ linkToken: at(cash.links) }))).toBe(
    'INTERNAL_ERROR',
  )
  const paid = await harness.checkouts.getCheckout({ linkToken: at(collected.links) })
  expect(paid.checkout).toMatchObject({ payerState: PayerState.PAID, cashCode: '' })
})

it('a charge without its key does not hold up those that were announced with it', async () => {
  harness.backend.state.isDown = true
  const { received } = harness.backend
  const lost = await made([payer(0n, agent)])
  // Its first announcement was made with the key, and failed.
  await eventually(() => received.rejected > 0)
  const retired = keys().current.keyId
  keys.rotate()
  keys.retire(retired)
  const before = received.rejected
  const others = [await made(), await made([payer(0n, agent)])]
  await eventually(() => received.rejected > before)
  harness.backend.state.isDown = false
  for (const { payment } of others) {
    await eventually(() => harness.backend.received.charges.has(at(payment.payers).payerId))
  }
  expect(harness.backend.received.charges.has(at(lost.payment.payers).payerId)).toBe(false)
})
