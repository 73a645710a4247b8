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
import type { Connection } from '../connection.ts'
import { time, valueOf, wordOf, wordsOf } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { UsageError } from '../usage-error.ts'
import { servicesOptions, withServices } from './services.ts'

const parts = ['accounts', 'payments', 'institution', 'quotes'] as const
const pageSize = 200

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

type Connections = Record<(typeof parts)[number], Connection>

const none = { next: '-', tries: 0 }

/** A list of a service, and the kinds of what is in it. */
type Source = { kinds: readonly string[]; read(connections: Connections): Promise<Stuck[]> }

const failingCalls: Source = {
  kinds: wordsOf(CallKind),
  async read({ payments }) {
    const { calls } = await payments.client(PaymentOperationsService).listFailingCalls({})
    return calls.map((one) => ({
      kind: wordOf(CallKind, one.kind),
      since: time(one.createTime),
      id: one.subjectId,
      projectId: one.projectId,
      next: time(one.nextTime),
      tries: one.attemptCount,
    }))
  },
}

const backendTasks: Source = {
  kinds: wordsOf(BackendTaskKind),
  async read({ accounts }) {
    const { tasks } = await accounts.client(BackendTaskService).listBackendTasks({})
    return tasks.map((one) => ({
      kind: wordOf(BackendTaskKind, one.kind),
      since: time(one.createTime),
      id: one.subjectId,
      projectId: one.projectId,
      next: time(one.nextTime),
      tries: one.attemptCount,
    }))
  },
}

const processingAttempts: Source = {
  kinds: ['attempt'],
  async read({ payments }) {
    const operations = payments.client(PaymentOperationsService)
    const { attempts } = await operations.listProcessingAttempts({ pageSize })
    return attempts.map((one) => ({
      kind: 'attempt',
      since: time(one.createTime),
      id: one.attemptId,
      projectId: one.projectId,
      next: time(one.nextEnquiryTime),
      tries: one.enquiryCount,
    }))
  },
}

const sentRefunds: Source = {
  kinds: ['sent_refund'],
  async read({ payments }) {
    const sent = { state: WaitingRefundState.SENT, pageSize }
    const { refunds } = await payments.client(PaymentOperationsService).listWaitingRefunds(sent)
    return refunds.map((one) => ({
      ...none,
      kind: 'sent_refund',
      since: time(one.createTime),
      id: one.refundId,
      projectId: one.projectId,
    }))
  },
}

const waitingTransfers: Source = {
  kinds: ['transfer'],
  async read({ institution }) {
    const client = institution.client(InstitutionService)
    const { transactions } = await client.listWaitingTransactions({ pageSize })
    return transactions.map((one) => ({
      ...none,
      kind: 'transfer',
      since: time(one.createTime),
      id: one.movementId,
      projectId: one.projectId,
    }))
  },
}

const heldQuotes: Source = {
  kinds: ['held_quote'],
  async read({ quotes }) {
    const held = await quotes.client(QuotesService).listHeldQuotes({ pageSize })
    return held.quotes.map(({ quote, movementId, reserveTime }) => ({
      ...none,
      kind: 'held_quote',
      since: time(reserveTime),
      id: movementId,
      projectId: quote?.projectId ?? '',
    }))
  },
}

const sources = [
  failingCalls,
  backendTasks,
  processingAttempts,
  sentRefunds,
  waitingTransfers,
  heldQuotes,
]
const kinds = sources.flatMap((source) => source.kinds)

/** The commands of `stuck`. */
export const stuckCommands: Command[] = [
  {
    name: 'stuck list',
    operands: '',
    summary:
      'Lists calls that the back end does not take, with profiles and consents, refunds without an outcome, and attempts, transfers and quotes that have waited for ten minutes; the oldest 200 of each. A held quote has the id of the transfer that holds it.',
    options: { ...servicesOptions(parts), kind: kinds.join(', ') },
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
    operands: '<attempt, sent_refund or transfer> <id>',
    operandWords: ['attempt', 'sent_refund', 'transfer'],
    summary:
      'Asks the back end now for the outcome of an attempt, a sent refund or a transfer. For a held quote, name the transfer that holds it.',
    options: servicesOptions(['payments', 'institution']),
    run: ask,
  },
]

function list(context: CommandContext): Promise<void> {
  const wanted = context.options['kind']
  const matches = (kind: string) => kind === (wanted ?? kind)
  const wantedSources = sources.filter((source) => source.kinds.some(matches))
  if (wantedSources.length === 0) throw new UsageError(`--kind must be one of ${kinds.join(', ')}`)
  const none = wanted === undefined ? shape.none : `no ${wanted} is stuck`
  return withServices(context, parts, async (connections) => {
    const found = await Promise.all(wantedSources.map(({ read }) => read(connections)))
    await printList(context, { ...shape, none }, [found.flat().filter(({ kind }) => matches(kind))])
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
  } else if (word === 'sent_refund') {
    await withServices(context, ['payments'], ({ payments }) =>
      payments.client(PaymentOperationsService).repeatRefund({ refundId: id }),
    )
  } else if (word === 'transfer') {
    await withServices(context, ['institution'], ({ institution }) =>
      institution.client(InstitutionService).resumeTransaction({ movementId: id }),
    )
  } else {
    throw new UsageError('the kind must be one of attempt, sent_refund, transfer')
  }
  printDue(context, word, id)
}

function printDue({ json, print }: CommandContext, kind: string, id: string): void {
  print(json ? JSON.stringify({ kind, id }) : `the ${kind} ${id} is due`)
}
