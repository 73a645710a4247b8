// The commands on approvals: what one person requested and a second one must approve.
import type { Client } from '@connectrpc/connect'
import { formatAmount } from '#core/money/money.ts'
import {
  type Approval,
  ApprovalSchema,
  ApprovalService,
  ApprovalState,
} from '#gen/payweave/approvals/v1/approvals_pb.js'
import { oneOperand } from '../access.ts'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { jsonLine, printable, time, wordOf } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'

const options = {
  ...optionsFor('payments'),
  url: 'address of the payments service, or of billing with --bills, instead of the one in sandbox.json',
} as const
const projectOption = { project: 'UUID, or a name in sandbox.json (demo)' } as const
const bills = { bills: 'decisions about bill payments instead of refunds' } as const

/** The commands of `approval`. */
export const approvalCommands: Command[] = [
  {
    name: 'approval list',
    operands: '',
    summary: 'Lists what waits for a second person, oldest first.',
    example: 'approval list --all --subject 0197a9b0-3f6a-7000-8000-000000000001',
    options: {
      project: 'UUID, or a name in sandbox.json (all projects; with --subject: demo)',
      ...options,
      subject: 'id of the payment, or with --bills transaction id of the bill payment',
      limit: 'maximum number (50)',
    },
    flags: { ...bills, all: 'also what was decided or has expired, newest first' },
    run: (context) => withApprovals(context, list),
  },
  {
    name: 'approval approve',
    operands: '<approval id>',
    summary: 'Approves and executes what somebody else requested.',
    options: { ...projectOption, ...options },
    flags: bills,
    run: (context) => withApprovals(context, approve),
  },
  {
    name: 'approval reject',
    operands: '<approval id>',
    summary: 'Rejects what somebody requested, or withdraws an own request.',
    options: { ...projectOption, ...options, note: 'why; kept in the audit' },
    flags: bills,
    run: (context) => withApprovals(context, reject),
  },
]

type ApprovalWork = (
  context: CommandContext,
  approvals: Client<typeof ApprovalService>,
  connection: Connection,
) => Promise<void>

async function withApprovals(context: CommandContext, work: ApprovalWork): Promise<void> {
  const part = context.flags.has('bills') ? 'billing' : 'payments'
  const connection = connect(context.options, context.env, part)
  try {
    await work(context, connection.client(ApprovalService), connection)
  } finally {
    await connection.close()
  }
}

const list: ApprovalWork = async (context, approvals, connection) => {
  const limit = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
  const { project, subject: subjectId = '' } = context.options
  // An id of a payment or bill is one of a project.
  const isOfAll = project === undefined && subjectId === ''
  const projectId = isOfAll ? '' : await connection.projectId()
  const state = context.flags.has('all') ? ApprovalState.UNSPECIFIED : ApprovalState.WAITING
  const pages = pagesOf(limit, async (pageSize, pageToken) => {
    const wanted = { projectId, subjectId, state, pageSize, pageToken }
    const page = await approvals.listApprovals(wanted)
    return { items: page.approvals, nextPageToken: page.nextPageToken }
  })
  await printList(context, approvalShape, pages)
}

const approve: ApprovalWork = async (context, approvals, connection) => {
  const approvalId = oneOperand(context, 'approval id')
  const projectId = await connection.projectId()
  const { approval } = await approvals.approve({ projectId, approvalId })
  await printApproval(context, approval)
}

const reject: ApprovalWork = async (context, approvals, connection) => {
  const approvalId = oneOperand(context, 'approval id')
  const projectId = await connection.projectId()
  const { note = '' } = context.options
  const { approval } = await approvals.reject({ projectId, approvalId, note })
  await printApproval(context, approval)
}

/** Prints one approval, as the list does. Never rejects. */
export async function printApproval(
  context: CommandContext,
  approval: Approval | undefined,
): Promise<void> {
  await printList(context, approvalShape, [approval === undefined ? [] : [approval]])
}

const approvalShape: ListShape<Approval> = {
  headings: [
    'SINCE',
    'APPROVAL',
    'PROJECT',
    'SUBJECT',
    'AMOUNT',
    'DECISION',
    'BY',
    'STATE',
    'DECIDED BY',
  ],
  cells: ({ amount, ...approval }) => [
    time(approval.createTime),
    approval.approvalId,
    approval.projectId,
    approval.subjectId,
    amount === undefined
      ? '-'
      : `${formatAmount(amount.minorUnits, amount.currency)} ${amount.currency}`,
    approval.outcome || 'refund',
    printable(approval.requester),
    wordOf(ApprovalState, approval.state),
    printable(approval.decider),
  ],
  json: (approval) => jsonLine(ApprovalSchema, approval),
  none: 'nothing waits for a second person',
}
