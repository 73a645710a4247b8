// The settlements of a project: every movement of money of its payments, and what it did to the money that is held.
import type { FastifyInstance } from 'fastify'
import { formatAmount } from '#core/money/money.ts'
import { type Settlement, SettlementKind } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type ProjectWork, type Worker } from '../http/work.ts'
import { amount, row, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, wordOf } from '../pages/words.ts'
import { transferCell } from './ledger-links.ts'
import { nextPageUrl, sendCsv, timeFields, timesIn, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

/** Registers `/projects/<id>/balances/settlements` and its file. */
export function registerSettlements(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/balances/settlements'
  app.get(
    path,
    worker.projectPage((work) => show(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'settlements', csvHead, async (pageToken) => {
        const wanted = { ...filter, pageToken }
        const page = await clients.paymentSettlements.listProjectSettlements(wanted)
        return { rows: page.settlements.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
}

function filterOf({ query, project: { projectId } }: ProjectWork) {
  return { projectId, ...timesIn(query) }
}

async function show(work: ProjectWork, { paymentSettlements }: Clients) {
  const { request, reply, project, query, may } = work
  const base = `/projects/${project.projectId}`
  const pageToken = query.get('page') ?? ''
  const listed = await paymentSettlements.listProjectSettlements({ ...filterOf(work), pageToken })
  return sendSections(reply, {
    title: `Settlements of ${project.name}`,
    sections: [
      {
        note: 'Every movement of money of the payments, and by how much it changed the money that is held for their parties.',
        filters: {
          fields: timeFields(query),
          links: [
            { label: 'CSV', href: withFilters(`${base}/balances/settlements.csv`, request.url) },
            { label: 'Balances', href: `${base}/balances` },
          ],
        },
        table: {
          head: ['Time', 'Kind', 'Payment', 'Amount', 'Held', 'Settlement'],
          empty: 'No money moved in this time. A payment that is paid makes the first settlement.',
          rows: listed.settlements.map((one) => [
            { at: one.createTime },
            text(wordOf(SettlementKind, one.kind)),
            row(one.transactionId, `${base}/payments/${one.paymentId}`),
            amount(money(one.amountMinor, one.currency)),
            amount(shownHeld(one)),
            transferCell(may, project.projectId, one.settlementId),
          ]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.payments.v1.SettlementService/ListProjectSettlements',
      },
    ],
  })
}

const { PAYER_RECEIPT, FEE, FEE_RETURNED, REFUND, PAYOUT, PAYOUT_RETURNED, PAYOUT_RECOVERY } =
  SettlementKind
const comes: ReadonlySet<SettlementKind> = new Set([
  PAYER_RECEIPT,
  FEE_RETURNED,
  PAYOUT_RETURNED,
  PAYOUT_RECOVERY,
])
const goes: ReadonlySet<SettlementKind> = new Set([FEE, PAYOUT])

/** By how much a settlement changes the money that is held, in minor units; late money and debts of merchants are not in it. */
export function heldChange({
  kind,
  reversesKind,
  amountMinor,
}: Pick<Settlement, 'kind' | 'reversesKind' | 'amountMinor'>): bigint {
  if (kind === PAYOUT_RETURNED && reversesKind === PAYOUT_RECOVERY) return 0n
  if (comes.has(kind)) return amountMinor
  const isRefund = kind === REFUND && reversesKind === PAYER_RECEIPT
  return goes.has(kind) || isRefund ? -amountMinor : 0n
}

function shownHeld(one: Settlement): string {
  const change = heldChange(one)
  return change === 0n ? '' : money(change, one.currency)
}

const csvHead = [
  'settlement_id',
  'time',
  'kind',
  'amount',
  'held',
  'currency',
  'payment_id',
  'transaction_id',
  'merchant_id',
]

function csvCells(one: Settlement): string[] {
  return [
    one.settlementId,
    timeOf(one.createTime)?.iso ?? '',
    wordOf(SettlementKind, one.kind),
    formatAmount(one.amountMinor, one.currency),
    formatAmount(heldChange(one), one.currency),
    one.currency,
    one.paymentId,
    one.transactionId,
    one.merchantId,
  ]
}
