// The first page of a project: the day of a merchant, money that is held, and receivers that fail.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import type { ProjectBalance } from '#gen/payweave/accounts/v1/balances_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, type ListEndpointsResponse } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import {
  type GetPaymentSummaryResponse,
  type PaymentCount,
  type PaymentHour,
  PaymentState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import type { Clients } from '../clients.ts'
import { answered, missingSection } from '../http/answered.ts'
import type { ProjectWork, Worker } from '../http/work.ts'
import { amount, type Section, type Tile, text } from '../pages/blocks.ts'
import { type Bar, type Chart, highestOf } from '../pages/chart/chart.ts'
import { sendSections } from '../pages/render.ts'
import { money, wordOf } from '../pages/words.ts'
import { merchantField, merchantOf, merchantsOf } from './merchants.ts'

type Options = { worker: Worker; clients: Clients }

/** Registers `/projects/<id>`. */
export function registerOverview(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/projects/:projectId',
    worker.projectPage((work) => show(work, clients)),
  )
}

const shownReceivers = 10
/** A replica of the previous release, without the filter by state, answers with receivers of any. */
const readReceivers = 100
/** States in which a circuit breaker keeps pushes back. */
const failingStates = [BreakerState.OPEN, BreakerState.HALF_OPEN]

async function show(work: ProjectWork, clients: Clients) {
  const { reply, project, query } = work
  const { projectId } = project
  const merchants = await merchantsOf(work, clients)
  const merchant = await merchantOf(work, clients, merchants, query.get('merchant'))
  const listOf = (breaker: BreakerState) =>
    clients.endpoints.listEndpoints({ projectId, breaker, pageSize: readReceivers })
  const missing: string[] = []
  const part = async <T>(
    what: string,
    calls: () => Promise<T>,
    shown: (found: T) => Section[],
  ): Promise<Section[]> => {
    const found = await answered(missing, what, calls)
    return found === undefined ? [] : shown(found)
  }
  const sections = await Promise.all([
    merchant === undefined
      ? [noMerchant]
      : part(
          'payments',
          () => clients.payments.getPaymentSummary({ projectId, merchantId: merchant.merchantId }),
          daySections,
        ),
    part(
      'money held',
      () => clients.balances.listProjectBalances({ projectId }),
      ({ balances }) => [moneySection(balances, `/projects/${projectId}/balances`)],
    ),
    part(
      'receivers that fail',
      () => Promise.all(failingStates.map(listOf)),
      (lists) => [receiversSection(lists, `/projects/${projectId}/receivers`)],
    ),
  ])
  const chosen = { fields: [merchantField(merchants, merchant)] }
  return sendSections(reply, {
    title: project.name,
    sections: [
      ...missingSection(missing),
      ...(merchants.length > 1 ? [{ filters: chosen }] : []),
      ...sections.flat(),
    ],
  })
}

const noMerchant: Section = {
  note: 'This project has no merchant yet. Create one with: payweave merchant create <name>',
}

const dayMs = 86_400_000
const hourMs = 3_600_000

/** States in the order of the tiles; the first ones are shown where nothing is in them too. */
const shownStates = [
  PaymentState.PAID,
  PaymentState.PENDING,
  PaymentState.FAILED,
  PaymentState.PARTIALLY_PAID,
  PaymentState.EXPIRED,
  PaymentState.CANCELLED,
  PaymentState.REFUNDED,
]
const alwaysShown = 3

function daySections({ hours, open, openIsCut, readTime }: GetPaymentSummaryResponse): Section[] {
  const nowMs = readTime === undefined ? 0 : timestampDate(readTime).getTime()
  const midnightMs = nowMs - (nowMs % dayMs)
  const ended = hours.flatMap((hour) => (startOf(hour) >= midnightMs ? (hour.ended ?? []) : []))
  const cut = openIsCut ? ' Of more than 10,000 the newest 10,000 are counted.' : ''
  const chart = chartOf(hours, nowMs - (nowMs % hourMs))
  return [
    {
      heading: 'Today',
      note: `What ended since midnight UTC, and what is open now, whenever it was created.${cut}`,
      tiles: tilesOf([...ended, ...open]),
      rpc: 'payweave.payments.v1.PaymentsService/GetPaymentSummary',
    },
    {
      heading: 'The last day',
      note: `Payments by the hour in which they ended, the last one is this hour: paid ones below, those that failed, expired or were cancelled above. The highest bar stands for ${highestOf(chart)}.`,
      chart,
    },
  ]
}

function startOf({ startTime }: PaymentHour): number {
  return startTime === undefined ? 0 : timestampDate(startTime).getTime()
}

function tilesOf(counts: PaymentCount[]): Tile[] {
  return shownStates.flatMap((state, at) => {
    const own = counts.filter((one) => one.state === state)
    const count = own.reduce((sum, one) => sum + one.count, 0n)
    if (count === 0n && at >= alwaysShown) return []
    const byCurrency = Map.groupBy(own, ({ currency }) => currency)
    const details = [...byCurrency].toSorted().map(([currency, inIt]) =>
      money(
        inIt.reduce((minor, one) => minor + one.amountMinor, 0n),
        currency,
      ),
    )
    return [{ state: wordOf(PaymentState, state), figure: String(count), details }]
  })
}

/** Paid once, a payment stays in the plot: its refund is another matter. */
const unpaidStates = [PaymentState.FAILED, PaymentState.EXPIRED, PaymentState.CANCELLED]

/** Hours from one time below the plot to the next. */
const tickEvery = 6

function chartOf(hours: PaymentHour[], lastMs: number): Chart {
  const countIn = (startMs: number, states: PaymentState[]) =>
    hours.reduce((sum, hour) => {
      const isIn = startOf(hour) === startMs && states.includes(hour.ended?.state ?? 0)
      return isIn ? sum + Number(hour.ended?.count ?? 0n) : sum
    }, 0)
  const bars = Array.from({ length: 24 }, (_, index): Bar => {
    const startMs = lastMs - (23 - index) * hourMs
    const paid = countIn(startMs, [PaymentState.PAID])
    const unpaid = countIn(startMs, unpaidStates)
    const time = new Date(startMs).toISOString().slice(11, 16)
    return {
      title: `${time} UTC: ${paid} paid, ${unpaid} not`,
      parts: [
        { tone: 'good', size: paid },
        { tone: 'bad', size: unpaid },
      ],
    }
  })
  const ticks = bars.filter((_, at) => at % tickEvery === 0).map(({ title }) => title.slice(0, 9))
  const total = (at: number) => bars.reduce((sum, { parts }) => sum + (parts[at]?.size ?? 0), 0)
  return { label: `In the last 24 hours ${total(0)} paid and ${total(1)} not`, bars, ticks }
}

function moneySection(balances: ProjectBalance[], path: string): Section {
  const held = balances.filter(({ internal }) => internal === InternalAccount.HELD)
  return {
    heading: 'Money held',
    table: {
      head: ['Currency', 'For the parties of payments'],
      empty: 'No money is held.',
      rows: held.map(({ posted }) => [
        text(posted?.currency ?? ''),
        { ...amount(money(posted?.minorUnits ?? 0n, posted?.currency ?? '')), href: path },
      ]),
    },
    rpc: 'payweave.accounts.v1.BalanceService/ListProjectBalances',
  }
}

function receiversSection(lists: ListEndpointsResponse[], path: string): Section {
  const failing = lists.flatMap(({ endpoints }, at) =>
    endpoints.filter(({ breaker }) => breaker === failingStates[at]),
  )
  const rows = failing.slice(0, shownReceivers)
  const isCut = rows.length < failing.length || lists.some((one) => one.nextPageToken !== '')
  return {
    heading: 'Receivers that fail',
    note: `Their circuit breaker is open: pushes wait.${isCut && rows.length > 0 ? ' There are more.' : ''}`,
    facts: [['All', { text: 'Receivers', href: path }]],
    table: {
      head: ['Receiver', 'Kind', 'Until', 'Due since'],
      empty: isCut
        ? 'None of the first receivers fails. Open all of them to see the others.'
        : 'Every receiver takes its pushes.',
      rows: rows.map(({ origin, kind, openUntilTime, oldestDueTime }) => [
        text(origin),
        text(wordOf(DeliveryKind, kind)),
        { at: openUntilTime },
        { at: oldestDueTime },
      ]),
    },
    rpc: 'payweave.delivery.v1.EndpointService/ListEndpoints',
  }
}
