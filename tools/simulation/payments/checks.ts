// What must hold after every run of the payments simulation.
import { type Payment, PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import type { Server } from '../postgres/server.ts'
import type { Order } from './clients.ts'
import type { Connector, Receipt, Transfer } from './connector.ts'

/** What a run has left. */
export type Left = {
  orders: readonly Order[]
  connectors: readonly Connector[]
  unexpected: readonly string[]
  hasEnded: boolean
}

type PaymentRow = {
  payment_id: string
  transaction_id: string
  amount_minor: bigint
  fee_payee_pays_minor: bigint
  fee_merchant_pays_minor: bigint
  state: string
}
type PayerRow = { payer_id: string; payment_id: string; state: string; charge: bigint; was: string }
type PayeeRow = {
  payee_id: string
  payment_id: string
  net_minor: bigint
  payout_state: string
  was: string
}
type RefundRow = { refund_id: string; payer_id: string; amount_minor: bigint; state: string }
type ReceiptRow = { payer_id: string; attempt_id: string; amount_minor: bigint }
type Balance = { internal: string; minor: bigint }
type Posted = { settlement_id: string; amount_minor: bigint; lines: bigint; moved: bigint }

const payersText = `
  select r.*, p.state as was, r.amount_minor + r.fee_minor + r.tip_minor + r.tax_minor + r.convenience_fee_minor as charge
  from payments.payer r join payments.payment p using (project_id, payment_id)`
const payeesText = `
  select e.*, p.state as was from payments.payee e join payments.payment p using (project_id, payment_id)`
const receiptsText = `
  select payer_id, attempt_id, amount_minor from payments.settlement
  where kind in ('payer_receipt', 'late_receipt', 'duplicate_receipt')`
/** Each settlement with the lines of its transfer, and each transfer without a settlement. */
const postedText = `
  select coalesce(s.settlement_id, t.transfer_id) as settlement_id, coalesce(s.amount_minor, 0) as amount_minor,
    (select count(*) from accounts.posting p where p.transfer_id = t.transfer_id) as lines,
    (select coalesce(sum(greatest(p.amount_minor, 0)), 0)::bigint from accounts.posting p where p.transfer_id = t.transfer_id) as moved
  from payments.settlement s full join accounts.transfer t on t.transfer_id = s.settlement_id`
const balancesText = `
  select internal, sum(amount_minor)::bigint as minor from accounts.posting where internal is not null group by internal`

/** The rules that the run broke, in words; none when all hold. */
export async function findBroken(server: Server, left: Left): Promise<string[]> {
  const { orders, connectors } = left
  const payments = await server.read<PaymentRow>('select * from payments.payment')
  const payers = await server.read<PayerRow>(payersText)
  const payees = await server.read<PayeeRow>(payeesText)
  const refunds = await server.read<RefundRow>('select * from payments.refund')
  const receipts = await server.read<ReceiptRow>(receiptsText)
  const posted = await server.read<Posted>(postedText)
  const balances = new Map(
    (await server.read<Balance>(balancesText)).map(({ internal, minor }) => [internal, minor]),
  )
  const taken = connectors.flatMap((one) => one.receipts)
  const sent = connectors.flatMap((one) => [...one.transfers.values()])
  const stateOf = new Map(payments.map((one) => [one.payment_id, one]))
  return [
    ...(left.hasEnded ? [] : ['work is left long after the last fault']),
    ...left.unexpected,
    ...orders.flatMap((order) => brokenOrder(order, payments)),
    ...payers.flatMap((payer) => {
      const isThis = ({ chargeId }: { chargeId?: string | undefined }) =>
        chargeId === payer.payer_id
      const isOwn = ({ payer_id }: { payer_id: string }) => payer_id === payer.payer_id
      const own = { taken: taken.filter(isThis), returned: sent.filter(isThis) }
      return [
        ...brokenReceipts(payer, own.taken, receipts.filter(isOwn)),
        ...brokenRefunds(payer, own, refunds.filter(isOwn)),
        ...brokenCharge(payer, connectors),
      ]
    }),
    ...payees.flatMap((payee) => brokenPayout(payee, sent)),
    ...brokenShares(payers, stateOf),
    ...onceOnly(connectors),
    ...posted.flatMap(brokenPosting),
    ...brokenClearing(balances.get('clearing') ?? 0n, taken, sent),
    ...brokenDebts(balances, payments, payees),
  ]
}

/** One payment for a transaction id, of the amount that was asked for, whose end does not change once a merchant was shown it. */
function brokenOrder(
  { transactionId, shares, answers }: Order,
  all: readonly PaymentRow[],
): string[] {
  const own = all.filter((one) => one.transaction_id === transactionId)
  const [payment] = own
  const broken: string[] = []
  if (own.length > 1) broken.push(`${transactionId} has ${own.length} payments`)
  if (answers.some(({ paymentId }) => paymentId !== payment?.payment_id)) {
    broken.push(`${transactionId} was shown as another payment than ${payment?.payment_id}`)
  }
  if (payment !== undefined && payment.amount_minor !== sumOf(shares)) {
    broken.push(`${transactionId} has the amount ${payment.amount_minor}`)
  }
  const shown = new Set(answers.map(endOf).filter((end) => end !== undefined))
  if (payment?.state === 'Refunded') shown.delete('paid')
  shown.delete(payment?.state ?? '')
  if (shown.size > 0) {
    broken.push(`${transactionId} is ${payment?.state} and was shown as ${[...shown].join(', ')}`)
  }
  return broken
}

const ends: Partial<Record<PaymentState, string>> = {
  [PaymentState.PAID]: 'paid',
  [PaymentState.CANCELLED]: 'Cancelled',
  [PaymentState.EXPIRED]: 'Expired',
  [PaymentState.FAILED]: 'Failed',
  [PaymentState.REFUNDED]: 'Refunded',
}
const endOf = ({ state }: Payment): string | undefined => ends[state]

/** Calls of payments take the money of a share once, and each time that a connector took money has one receipt, of its amount. */
function brokenReceipts(
  { payer_id: id, charge }: PayerRow,
  taken: readonly Receipt[],
  receipts: readonly ReceiptRow[],
): string[] {
  const called = taken.filter(({ isCalled }) => isCalled)
  const broken = called.length > 1 ? [`${id} was charged ${called.length} times`] : []
  const isSame = sameItems(
    taken.map((one) => `${one.attemptId} ${one.amountMinor}`),
    receipts.map((one) => `${one.attempt_id} ${one.amount_minor}`),
  )
  if (!isSame)
    broken.push(`${id} was taken ${taken.length} times and has ${receipts.length} receipts`)
  if (taken.some(({ amountMinor }) => amountMinor !== charge)) {
    broken.push(`${id} was charged another amount than ${charge}`)
  }
  return broken
}

/** What was taken of a share goes back, but for one charge of a payment that is paid; never more, and as its refunds say. */
function brokenRefunds(
  { payer_id: id, charge, was }: PayerRow,
  { taken, returned }: { taken: readonly Receipt[]; returned: readonly Transfer[] },
  refunds: readonly RefundRow[],
): string[] {
  const got = sumOf(taken.map(({ amountMinor }) => amountMinor))
  const gone = sumOf(returned.filter(({ isDone }) => isDone).map(({ amountMinor }) => amountMinor))
  const due = sumOf(refunds.map(({ amount_minor }) => amount_minor))
  const kept = was === 'paid' ? charge : 0n
  const broken = gone > got ? [`${id} got ${gone} back of ${got}`] : []
  if (got - due !== kept) {
    broken.push(`${id} of a payment that is ${was} paid ${got} and has refunds of ${due}`)
  }
  const isSame = sameItems(
    refunds.map((one) => `${one.refund_id} ${one.amount_minor} ${one.state === 'completed'}`),
    returned.map((one) => `${one.id} ${one.amountMinor} ${one.isDone}`),
  )
  return isSame ? broken : [...broken, `${id} has other refunds than its connector`]
}

/** A charge that was not paid can be paid no more. */
function brokenCharge(
  { payer_id: id, state }: PayerRow,
  connectors: readonly Connector[],
): string[] {
  if (state === 'paid' || state === 'Refunded') return []
  const isOpen = connectors.some((one) => one.announced.has(id) && !one.withdrawn.has(id))
  return isOpen ? [`${id} is ${state} and can still be paid`] : []
}

/** A payout is made once, of its amount, when the payment is paid, and as its state says. */
function brokenPayout(
  { payee_id: id, net_minor: net, payout_state: state, was }: PayeeRow,
  sent: readonly Transfer[],
): string[] {
  const own = sent.filter((one) => one.id === id)
  const right = { completed: 'true', failed: 'false' }[state]
  const made = own.map(({ isDone, amountMinor }) => `${isDone} ${amountMinor}`)
  const isSame = sameItems(made, right === undefined ? [] : [`${right} ${net}`])
  const broken = isSame ? [] : [`the payout of ${id} is ${state} and was made: ${made.join(', ')}`]
  const isDue = was === 'paid' || was === 'Refunded'
  return isDue || state === 'waiting'
    ? broken
    : [...broken, `${id} is ${state} of a payment ${was}`]
}

/** All shares of a payment that is paid are paid; none of another one stays so. */
function brokenShares(
  payers: readonly PayerRow[],
  payments: ReadonlyMap<string, PaymentRow>,
): string[] {
  return payers.flatMap(({ payer_id: id, payment_id: of, state }) => {
    const whole = payments.get(of)?.state
    const isSound = whole === 'paid' ? state === 'paid' : !['paid', 'Pending'].includes(state)
    return isSound ? [] : [`the share ${id} of a payment that is ${whole} is ${state}`]
  })
}

/** A charge, a refund and a payout are at one connector. */
function onceOnly(connectors: readonly Connector[]): string[] {
  const ids = connectors.flatMap((one) => [...one.announced.keys(), ...one.transfers.keys()])
  const seen = new Set<string>()
  return ids.flatMap((id) => {
    if (seen.has(id)) return [`${id} is at two connectors`]
    seen.add(id)
    return []
  })
}

/** The ledger has each settlement as one transfer of its amount, and nothing else. */
function brokenPosting({ settlement_id: id, amount_minor, lines, moved }: Posted): string[] {
  return lines === 2n && moved === amount_minor
    ? []
    : [`settlement ${id} of ${amount_minor} moved ${moved} in ${lines} lines`]
}

/** By the ledger the connectors hold what they took, less what they sent. */
function brokenClearing(
  minor: bigint,
  taken: readonly Receipt[],
  sent: readonly Transfer[],
): string[] {
  const done = sent.filter(({ isDone }) => isDone)
  const held =
    sumOf(taken.map((one) => one.amountMinor)) - sumOf(done.map((one) => one.amountMinor))
  return -minor === held ? [] : [`connectors hold ${held}, by the ledger ${-minor}`]
}

/**
 * What is held are the payouts of paid payments that have not left. A merchant owes the payouts of refunded payments that have left, and
 * those fees of paid payments that were not taken from the money received.
 */
function brokenDebts(
  balances: ReadonlyMap<string, bigint>,
  payments: readonly PaymentRow[],
  payees: readonly PayeeRow[],
): string[] {
  const netOf = (some: readonly PayeeRow[]) => sumOf(some.map(({ net_minor }) => net_minor))
  const left = (was: string) =>
    netOf(payees.filter((one) => one.was === was && one.payout_state === 'completed'))
  const ofPaid = payees.filter(({ was }) => was === 'paid')
  const paid = payments.filter(({ state }) => state === 'paid')
  const billed = paid.map(
    ({ payment_id: id, amount_minor, fee_payee_pays_minor, fee_merchant_pays_minor }) =>
      fee_payee_pays_minor +
      fee_merchant_pays_minor +
      netOf(ofPaid.filter(({ payment_id }) => payment_id === id)) -
      amount_minor,
  )
  const wanted = {
    held: netOf(ofPaid) - left('paid'),
    merchant_receivable: -left('Refunded') - sumOf(billed),
    suspense: 0n,
  }
  return Object.entries(wanted).flatMap(([internal, minor]) => {
    const found = balances.get(internal) ?? 0n
    return found === minor ? [] : [`${internal} should be ${minor} and is ${found}`]
  })
}

const sameItems = (some: readonly string[], others: readonly string[]): boolean =>
  some.toSorted().join() === others.toSorted().join()

const sumOf = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((sum, minor) => sum + minor, 0n)
