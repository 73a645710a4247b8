// The lists of what is stuck as one CSV file.
import { type BackendTask, BackendTaskKind } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import type { Transaction } from '#gen/payweave/institution/v1/institution_pb.js'
import {
  CallKind,
  type FailingCall,
  type ProcessingAttempt,
  type WaitingRefund,
  WaitingRefundState,
} from '#gen/payweave/payments/v1/operations_pb.js'
import type { HeldQuote } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import type { Clients } from '../../clients.ts'
import { money, timeOf, wordOf } from '../../pages/words.ts'
import type { CsvPage } from '../list.ts'

const csvPageSize = 200

/** The names of the file's columns. */
export const csvHead = [
  'what',
  'since',
  'id',
  'project_id',
  'payment_id',
  'amount',
  'attempts',
  'next',
]

const inFile = (pageToken: string) => ({ pageToken, pageSize: csvPageSize })

/** The lists of what is stuck, as the filter names them. */
export const stuckKinds = ['call', 'task', 'attempt', 'refund', 'transfer', 'quote'] as const

/** One of them. */
export type StuckKind = (typeof stuckKinds)[number]

/** The pages of each of the lists, as lines of one file. */
export function csvOf({
  paymentOperations,
  backendTasks,
  institution,
  quotes,
}: Clients): Record<StuckKind, (pageToken: string) => Promise<CsvPage>> {
  return {
    call: async () => {
      const { calls } = await paymentOperations.listFailingCalls({})
      return { rows: calls.map(callCells), nextPageToken: '' }
    },
    task: async () => {
      const { tasks } = await backendTasks.listBackendTasks({})
      return { rows: tasks.map(taskCells), nextPageToken: '' }
    },
    attempt: async (token: string) => {
      const page = await paymentOperations.listProcessingAttempts(inFile(token))
      return { rows: page.attempts.map(attemptCells), nextPageToken: page.nextPageToken }
    },
    refund: async (token: string) => {
      const sent = { state: WaitingRefundState.SENT, ...inFile(token) }
      const page = await paymentOperations.listWaitingRefunds(sent)
      return { rows: page.refunds.map(refundCells), nextPageToken: page.nextPageToken }
    },
    transfer: async (token: string) => {
      const page = await institution.listWaitingTransactions(inFile(token))
      return { rows: page.transactions.map(transferCells), nextPageToken: page.nextPageToken }
    },
    quote: async (token: string) => {
      const page = await quotes.listHeldQuotes(inFile(token))
      return { rows: page.quotes.map(quoteCells), nextPageToken: page.nextPageToken }
    },
  }
}

const isoOf = (time: Parameters<typeof timeOf>[0]) => timeOf(time)?.iso ?? ''

function callCells({ kind, subjectId, projectId, paymentId, ...one }: FailingCall): string[] {
  const what = `call: ${wordOf(CallKind, kind)}`
  const times = [String(one.attemptCount), isoOf(one.nextTime)]
  return [what, isoOf(one.createTime), subjectId, projectId, paymentId, '', ...times]
}

function taskCells({ kind, subjectId, projectId, ...one }: BackendTask): string[] {
  const times = [String(one.attemptCount), isoOf(one.nextTime)]
  const what = `task: ${wordOf(BackendTaskKind, kind)}`
  return [what, isoOf(one.createTime), subjectId, projectId, '', '', ...times]
}

function attemptCells({ attemptId, projectId, paymentId, ...one }: ProcessingAttempt): string[] {
  const times = [String(one.enquiryCount), isoOf(one.nextEnquiryTime)]
  return ['payment', isoOf(one.createTime), attemptId, projectId, paymentId, '', ...times]
}

function refundCells({ refundId, projectId, paymentId, ...one }: WaitingRefund): string[] {
  const shown = money(one.amountMinor, one.currency)
  return ['refund', isoOf(one.createTime), refundId, projectId, paymentId, shown, '', '']
}

function transferCells({
  movementId,
  projectId,
  createTime,
  amount: moved,
}: Transaction): string[] {
  return ['transfer', isoOf(createTime), movementId, projectId, '', moneyText(moved), '', '']
}

function quoteCells({ quote, reserveTime }: HeldQuote): string[] {
  const { quoteId = '', projectId = '', requested } = quote ?? {}
  return ['quote', isoOf(reserveTime), quoteId, projectId, '', moneyText(requested), '', '']
}

function moneyText(value: Money | undefined): string {
  return value === undefined ? '' : money(value.minorUnits, value.currency)
}
