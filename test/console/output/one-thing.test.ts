// Tests what pages show of one thing and where they lead from it: of a transfer of the ledger, of a push, of a payer.
import { randomUUID } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  InternalAccount,
  LedgerAddressSchema,
  TransferSchema,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { PayerState } from '#gen/payweave/payments/v1/payments_pb.js'
import { aboutCell, accountCell } from '../../../console/routes/ledger-links.ts'
import { type Harness, startHarness } from '../harness.ts'
import { usualTexts } from '../rows.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness(usualTexts)
})
afterAll(() => harness?.close())

const projectId = randomUUID()
const base = `/projects/${projectId}`

it('a transfer leads to the payment, the bill payment or the transfer that it was for', () => {
  const [transferId, paymentId, reversesId] = [randomUUID(), randomUUID(), randomUUID()]
  const about = (
    method: string,
    more: MessageInitShape<typeof TransferSchema>['details'] = {},
    reversed = '',
  ) => {
    const details = { ...more, method } as never
    const transfer = { projectId, transferId, reversesId: reversed, details }
    return aboutCell(create(TransferSchema, transfer))
  }
  const metadata = { payment_id: paymentId }
  expect(about('payment', { metadata })).toEqual({
    text: 'payment',
    href: `${base}/payments/${paymentId}`,
  })
  expect(about('bill_payment', { reference: 'bill_17' })).toEqual({
    text: 'bill payment',
    href: `${base}/bills/bill_17`,
  })
  for (const type of ['p2p', 'inttransfer', 'deposit', 'cashout']) {
    expect(about(type)).toEqual({ text: 'transfer', href: `${base}/transfers/${transferId}` })
    expect(about(type, {}, reversesId)).toEqual({
      text: 'transfer',
      href: `${base}/transfers/${reversesId}`,
    })
  }
  // Posted after its hold had expired, and the reversal of that.
  const late = { metadata: { movement_id: paymentId } }
  for (const reversed of ['', reversesId]) {
    expect(about('cashout', late, reversed)).toEqual({
      text: 'transfer',
      href: `${base}/transfers/${paymentId}`,
    })
  }
  for (const unknown of [
    about('float'),
    about('payment', { metadata: { payment_id: '../bills' } }),
    about('bill_payment', { reference: '../payments' }),
  ]) {
    expect(unknown).toEqual({ text: '' })
  }
})

it('an account of a transfer leads to the transfers of the project that have a line on it', () => {
  const accountId = randomUUID()
  const lead = (holder: NonNullable<MessageInitShape<typeof LedgerAddressSchema>['holder']>) =>
    accountCell(projectId, create(LedgerAddressSchema, { holder }))
  expect(lead({ case: 'internal', value: InternalAccount.FEE_INCOME })).toEqual({
    text: 'fee income',
    href: `${base}/ledger?account=fee_income`,
  })
  expect(lead({ case: 'floatProjectId', value: projectId })).toEqual({
    text: 'float',
    href: `${base}/ledger?account=float`,
  })
  expect(lead({ case: 'accountId', value: accountId })).toMatchObject({
    text: accountId,
    href: `${base}/ledger?customer=${accountId}`,
  })
})

it('pages link to the ledger only for people who may open it', async () => {
  const { projectId: demo, payment, bill, transfer } = harness.peers.projects.demo
  const places = [
    `payments/${payment.paymentId}`,
    `bills/${bill.transactionId}`,
    `transfers/${transfer.movementId}`,
    'balances',
    'balances/settlements',
  ]
  const isLed = async (id: string) => {
    const person = await harness.signedIn(id)
    return await Promise.all(
      places.map(async (place) => {
        const { text } = await person.get(`/projects/${demo}/${place}`)
        return new RegExp(
          `href="(/ledger\\?project=${demo}&amp;id=|/projects/${demo}/ledger\\?reference=)`,
        ).test(text)
      }),
    )
  }
  expect(await isLed('ama')).toEqual(places.map(() => true))
  expect(await isLed('abena')).toEqual(places.map(() => false))
  const ama = await harness.signedIn('ama')
  const { text } = await ama.get(`/projects/${demo}/ledger`)
  expect(text).toMatch(new RegExp(`href="/ledger\\?project=${demo}&amp;id=[0-9a-f-]{36}"`))
  expect(text).toContain(`href="/projects/${demo}/ledger?page=second"`)
  const short = await ama.get(`/projects/${demo}/ledger?account=held`)
  expect(short.text).toContain('No transfer on this page matches. The next page may have some.')
  expect(short.text).toContain('page=second')
  for (const wrong of ['account=nothing', 'customer=1', 'from=soon']) {
    expect((await ama.get(`/projects/${demo}/ledger?${wrong}`)).status).toBe(400)
  }
  const { staff } = harness.peers
  const entry = await ama.get(`/ledger?project=${demo}&id=${staff.transferId}`)
  expect(entry.text).toContain(`href="/projects/${demo}/transfers/${staff.transferId}"`)
  expect(entry.text).toContain(`href="/projects/${demo}/ledger?account=biller_clearing"`)
})

it('a push of an onboarding shows its path and its body', async () => {
  const { delivery } = harness.peers.projects.demo
  const before = { ...delivery }
  const body = new TextEncoder().encode('{"account":"of an onboarding"}')
  Object.assign(delivery, { kind: DeliveryKind.ONBOARDING, path: '/hooks/1', body })
  const ama = await harness.signedIn('ama')
  const { text } = await ama.get(`/projects/${delivery.projectId}/pushes/${delivery.deliveryId}`)
  Object.assign(delivery, before)
  expect(text).toContain(`<dt>Receiver</dt><dd>${delivery.origin}/hooks/1</dd>`)
  expect(text).toContain('of an onboarding')
})

it('each payer with a link has a QR code file, and a page with one payer who can still pay shows it, to people who may cancel', async () => {
  const { payment, projectId: demo } = harness.peers.projects.demo
  const [payer] = payment.payers
  if (payer === undefined) throw new Error('a payment with a payer')
  const self = `/projects/${demo}/payments/${payment.paymentId}`
  const file = (payerId: string) => `${self}/payers/${payerId}/qr.svg`
  const ama = await harness.signedIn('ama')
  const before = payer.state
  payer.state = PayerState.PENDING
  const only = (await ama.get(self)).text
  const second = { ...payer, payerId: randomUUID(), linkToken: 'token-of-another' }
  const without = { ...payer, payerId: randomUUID(), linkToken: '' }
  payment.payers.push(second, without)
  const { text } = await ama.get(self)
  const codes: string[] = []
  for (const { payerId } of [payer, second]) {
    expect(text).toContain(`href="${file(payerId)}"`)
    const { status, headers, text: svg } = await ama.get(file(payerId))
    expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
    codes.push(svg)
  }
  const missing = [await ama.get(file(without.payerId)), await ama.get(file(randomUUID()))]
  payment.payers.splice(1)
  const shownTo: [link: boolean, qr: boolean, why: boolean, fileStatus: number][] = []
  for (const id of ['esi', 'kwame', 'yaw', 'abena']) {
    const person = await harness.signedIn(id)
    const page = (await person.get(self)).text
    shownTo.push([
      page.includes(payer.linkToken),
      page.includes('QR code'),
      page.includes('links are only for people who may cancel'),
      (await person.get(file(payer.payerId))).status,
    ])
  }
  payer.state = before
  expect(only).toContain(codes[0])
  expect(text).not.toContain(codes[0])
  expect(text).not.toContain(without.payerId)
  expect(codes[1]).toMatch(/^<svg/)
  expect(codes[1]).not.toBe(codes[0])
  expect(missing.map(({ status }) => status)).toEqual([404, 404])
  const none = [false, false, true, 404]
  const all = [true, true, false, 200]
  expect(shownTo).toEqual([none, none, all, all])
})

it('an expired hold leads to the transfers of its reference, since what was posted later has another id', async () => {
  const { staff, projects } = harness.peers
  const browser = await harness.signedIn('ama')
  const { text } = await browser.get(
    `/ledger?project=${projects.demo.projectId}&id=${staff.holdId}`,
  )
  expect(text).toMatch(/<dt>Ledger<\/dt><dd><a [^>]*href="\/projects\/[^"]+\/ledger\?reference=/)
})
