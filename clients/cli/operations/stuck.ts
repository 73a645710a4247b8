// The commands on what takes too long: calls that the back end does not take, attempts, refunds, transfers and quotes without an end.
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import {
  CallKind,
  PaymentOperationsService,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Command, CommandContext } from '../command.ts'
import { time, valueOf, wordOf } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { UsageError } from '../usage-error.ts'
import { servicesOptions, withServices } from './services.ts'

const parts = ['payments', 'institution', 'quotes'] as const
const pageSize = 200

/** The commands of `stuck`. */
export const stuckCommands: Command[] = [
  {
    name: 'stuck list',
    operands: '',
    summary:
      'Lists calls that the back end does not take, refunds without an outcome, and attempts, transfers and quotes that have waited for ten minutes; the oldest 200 of each.',
    options: servicesOptions(parts),
    run: list,
  },
  {
    name: 'stuck retry',
    operands: '<announce, withdraw, refund or payout> <id>',
    summary:
      'Makes a call that the back end does not take due now; the id is that of "stuck list".',
    options: servicesOptions(['payments']),
    run: retry,
  },
]

type Stuck = {
  kind: string
  since: string
  id: string
  projectId: string
  next: string
  tries: number
}

const shape: ListShape<Stuck> = {
  headings: ['KIND', 'SINCE', 'ID', 'PROJECT', 'NEXT', 'TRIES'],
  cells: ({ kind, since, id, projectId, next, tries }) => [
    kind,
    since,
    id,
    projectId,
    next,
    String(tries),
  ],
  json: ({ kind, since, id, projectId, next, tries }) =>
    JSON.stringify({ kind, since, id, project_id: projectId, next, tries }),
  none: 'nothing is stuck',
}

function list(context: CommandContext): Promise<void> {
  return withServices(context, parts, async ({ payments, institution, quotes }) => {
    const operations = payments.client(PaymentOperationsService)
    const state = WaitingRefundState.SENT
    const [failing, processing, sent, waiting, held] = await Promise.all([
      operations.listFailingCalls({}),
      operations.listProcessingAttempts({ pageSize }),
      operations.listWaitingRefunds({ state, pageSize }),
      institution.client(InstitutionService).listWaitingTransactions({ pageSize }),
      quotes.client(QuotesService).listHeldQuotes({ pageSize }),
    ])
    const none = { next: '-', tries: 0 }
    const found: Stuck[] = [
      ...failing.calls.map((one) => ({
        kind: wordOf(CallKind, one.kind),
        since: time(one.createTime),
        id: one.subjectId,
        projectId: one.projectId,
        next: time(one.nextTime),
        tries: one.attemptCount,
      })),
      ...processing.attempts.map((one) => ({
        kind: 'attempt',
        since: time(one.createTime),
        id: one.attemptId,
        projectId: one.projectId,
        next: time(one.nextEnquiryTime),
        tries: one.enquiryCount,
      })),
      ...sent.refunds.map((one) => ({
        ...none,
        kind: 'sent refund',
        since: time(one.createTime),
        id: one.refundId,
        projectId: one.projectId,
      })),
      ...waiting.transactions.map((one) => ({
        ...none,
        kind: 'transfer',
        since: time(one.createTime),
        id: one.movementId,
        projectId: one.projectId,
      })),
      ...held.quotes.map(({ quote, reserveTime }) => ({
        ...none,
        kind: 'held quote',
        since: time(reserveTime),
        id: quote?.quoteId ?? '',
        projectId: quote?.projectId ?? '',
      })),
    ]
    await printList(context, shape, [found])
  })
}

async function retry(context: CommandContext): Promise<void> {
  const [word, subjectId, ...others] = context.operands
  if (word === undefined || subjectId === undefined || others.length > 0) {
    throw new UsageError('pass the kind of a call and the id of "stuck list"')
  }
  const kind = valueOf(CallKind, word, 'kind')
  await withServices(context, ['payments'], ({ payments }) =>
    payments.client(PaymentOperationsService).retryCall({ subjectId, kind }),
  )
  context.print(
    context.json
      ? JSON.stringify({ kind: word, id: subjectId })
      : `the ${word} of ${subjectId} is due`,
  )
}
