// The commands on what takes too long: calls that the back end does not take, attempts, refunds, transfers and quotes without an end.
import { BackendTaskKind, BackendTaskService } from '#gen/payweave/accounts/v1/onboarding_pb.js'
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

const parts = ['accounts', 'payments', 'institution', 'quotes'] as const
const pageSize = 200

/** The commands of `stuck`. */
export const stuckCommands: Command[] = [
  {
    name: 'stuck list',
    operands: '',
    summary:
      'Lists calls that the back end does not take, with profiles and consents, refunds without an outcome, and attempts, transfers and quotes that have waited for ten minutes; the oldest 200 of each. A held quote has the id of the transfer that holds it.',
    options: servicesOptions(parts),
    run: list,
  },
  {
    name: 'stuck retry',
    operands: '<announce, withdraw, refund, payout, submit_onboarding or request_consent> <id>',
    summary:
      'Makes a call that the back end does not take due now; the id is that of "stuck list".',
    options: servicesOptions(['payments', 'accounts']),
    run: retry,
  },
  {
    name: 'stuck ask',
    operands: '<attempt, refund or transfer> <id>',
    operandWords: ['attempt', 'refund', 'transfer'],
    summary:
      'Has the back end asked now for the outcome of an attempt, a refund or a transfer; for a held quote pass the transfer that holds it.',
    options: servicesOptions(['payments', 'institution']),
    run: ask,
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
  return withServices(context, parts, async ({ accounts, payments, institution, quotes }) => {
    const operations = payments.client(PaymentOperationsService)
    const state = WaitingRefundState.SENT
    const [failing, tasks, processing, sent, waiting, held] = await Promise.all([
      operations.listFailingCalls({}),
      accounts.client(BackendTaskService).listBackendTasks({}),
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
      ...tasks.tasks.map((one) => ({
        kind: wordOf(BackendTaskKind, one.kind),
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
      ...held.quotes.map(({ quote, movementId, reserveTime }) => ({
        ...none,
        kind: 'held quote',
        since: time(reserveTime),
        id: movementId,
        projectId: quote?.projectId ?? '',
      })),
    ]
    await printList(context, shape, [found])
  })
}

function kindAndId({ operands }: CommandContext): [word: string, id: string] {
  const [word, id, ...others] = operands
  if (word === undefined || id === undefined || others.length > 0) {
    throw new UsageError('pass a kind and the id of "stuck list"')
  }
  return [word, id]
}

async function retry(context: CommandContext): Promise<void> {
  const [word, subjectId] = kindAndId(context)
  if (Object.hasOwn(BackendTaskKind, word.toUpperCase())) {
    const kind = valueOf(BackendTaskKind, word, 'kind')
    await withServices(context, ['accounts'], ({ accounts }) =>
      accounts.client(BackendTaskService).retryBackendTask({ subjectId, kind }),
    )
  } else {
    const kind = valueOf(CallKind, word, 'kind')
    await withServices(context, ['payments'], ({ payments }) =>
      payments.client(PaymentOperationsService).retryCall({ subjectId, kind }),
    )
  }
  printDue(context, word, subjectId)
}

async function ask(context: CommandContext): Promise<void> {
  const [word, id] = kindAndId(context)
  if (word === 'attempt') {
    await withServices(context, ['payments'], ({ payments }) =>
      payments.client(PaymentOperationsService).enquireAttempt({ attemptId: id }),
    )
  } else if (word === 'refund') {
    await withServices(context, ['payments'], ({ payments }) =>
      payments.client(PaymentOperationsService).repeatRefund({ refundId: id }),
    )
  } else if (word === 'transfer') {
    await withServices(context, ['institution'], ({ institution }) =>
      institution.client(InstitutionService).resumeTransaction({ movementId: id }),
    )
  } else {
    throw new UsageError('the kind must be one of attempt, refund, transfer')
  }
  printDue(context, word, id)
}

function printDue({ json, print }: CommandContext, kind: string, id: string): void {
  print(json ? JSON.stringify({ kind, id }) : `the ${kind} ${id} is due`)
}
