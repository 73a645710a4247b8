// What one person requested and a second one must approve: refunds above the limit, and decisions about bills in review.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { formatAmount } from '#core/money/money.ts'
import {
  type Approval,
  ApprovalKind,
  ApprovalState,
  type ListApprovalsResponse,
} from '#gen/payweave/approvals/v1/approvals_pb.js'
import type { Clients } from '../../clients.ts'
import { answered, missingSection } from '../../http/answered.ts'
import { ownPath } from '../../http/guard.ts'
import { asFile, type ProjectWork, pathId, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  code,
  type Field,
  type Form,
  moneyCell,
  type Notices,
  noticeOf,
  type Page,
  row,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf, wordOf } from '../../pages/words.ts'
import { type NameOf, recordName } from '../../sign-in/people.ts'
import { type CsvPage, chained, idIn, nextPageUrl, sendCsv, withFilters } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

/** Rows of a section: most have two forms. */
const pageSize = 11
/** So many are counted. */
const maxCounted = 50
const csvPageSize = 200
const listReviews = 'payweave.billing.v1.CatalogueService/ListReviews'

/** The page with one approval. */
export function approvalPath(projectId: string, approvalId: string): string {
  return `/projects/${projectId}/approvals?approval=${approvalId}`
}

/** The page with the approvals of one bill payment. */
export function approvalsOf(projectId: string, subjectId: string): string {
  const query = new URLSearchParams({ project: projectId, subject: subjectId })
  return `/approvals?${query.toString()}`
}

type Fact = [name: string, value: Cell]

/**
 * Registers `/approvals`, which lists all of them, `/projects/<id>/approvals` with those of a project, their files, and the
 * decisions of one: `/projects/<id>/approvals/<id>/approve` and `/reject`, which lead back to the page of the form.
 */
export function registerApprovals(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/approvals',
    worker.page((work) => show(work, clients, filterOf(work))),
  )
  app.get(
    '/approvals.csv',
    worker.page((work) => sendFile(work, clients, filterOf(work)), asFile),
  )
  app.get(
    '/projects/:projectId/approvals',
    worker.projectPage((work) => show(work, clients, filterOf(work, work))),
  )
  app.get(
    '/projects/:projectId/approvals.csv',
    worker.projectPage((work) => sendFile(work, clients, filterOf(work, work)), asFile),
  )
  const path = '/projects/:projectId/approvals/:approvalId'
  app.post(
    `${path}/approve`,
    worker.projectPage(async (work) => {
      const { projectId } = work.project
      await clientOf(work, clients).approve({ projectId, ...pathId(work, 'approvalId') })
      return work.reply.redirect(backOf(work, 'approved'), 303)
    }),
  )
  app.post(
    `${path}/reject`,
    worker.projectPage(async (work) => {
      const note = work.form.get('note')?.trim() ?? ''
      const key = { projectId: work.project.projectId, ...pathId(work, 'approvalId') }
      await clientOf(work, clients).reject({ ...key, note })
      return work.reply.redirect(backOf(work, 'not-approved'), 303)
    }),
  )
}

/** What a page says after a decision, by `notice` of its address. */
export const approvalNotices: Notices = {
  approved: 'It is approved and done.',
  'not-approved': 'The request is rejected. Nothing was done.',
  requested:
    'It waits for a second person, who approves or rejects it on the page of the payment or under Approvals.',
}

/** The service that serves approvals of a kind. */
function clientOf({ form }: Work, { refundApprovals, billApprovals }: Clients) {
  const kind = valueOf(ApprovalKind, form.get('kind'))
  if (kind === ApprovalKind.REFUND) return refundApprovals
  if (kind === ApprovalKind.BILL) return billApprovals
  throw invalid('kind', 'must be that of an approval')
}

function backOf({ form }: Work, notice: string): string {
  const { pathname, searchParams } = new URL(ownPath(form.get('back')), 'http://localhost')
  searchParams.set('notice', notice)
  return `${pathname}?${searchParams.toString()}`
}

/** Which approvals a list has: in this state, of a project or of all, of a payment or bill or of all, or the one of an id. */
type Filter = { state: ApprovalState; projectId: string; subjectId: string; approvalId: string }

/** Reads the filter from the query, in a project or in all; an approval id matches in any state. Throws INVALID_PARAMETER for an invalid state or id. */
function filterOf({ query }: Work, own?: ProjectWork): Filter {
  const wanted = query.get('state') ?? ''
  if (wanted !== '' && wanted !== 'all') throw invalid('state', 'must be all')
  const approvalId = idIn(query, 'approval')
  const isAny = wanted === 'all' || approvalId !== ''
  const state = isAny ? ApprovalState.UNSPECIFIED : ApprovalState.WAITING
  const projectId = own?.project.projectId ?? idIn(query, 'project')
  return { state, projectId, subjectId: query.get('subject') ?? '', approvalId }
}

/** What is wrong with the project of a filter; undefined when nothing is. An id of a payment or bill is one of a project. */
function projectMistake({ projectId, subjectId }: Filter): string | undefined {
  return subjectId !== '' && projectId === '' ? 'must be that of the payment or bill' : undefined
}

/** Which approvals a call lists, and which page of them. */
type Wanted = Partial<Filter> & { pageSize: number; pageToken?: string }

/** The lists of approvals: of refunds, and of bills for those who may read them. */
export function listsOf(
  { may, within }: Pick<Work, 'may' | 'within'>,
  { refundApprovals, billApprovals }: Clients,
) {
  return {
    refunds: (wanted: Wanted) => refundApprovals.listApprovals(wanted),
    // Billing lists approvals for the staff over all projects only, and refuses a call that names a project: make it outside of one.
    bills: may(listReviews)
      ? (wanted: Wanted) => within(undefined, () => billApprovals.listApprovals(wanted))
      : undefined,
  }
}

async function show(work: Work, clients: Clients, filter: Filter) {
  const { request, reply, query } = work
  const [path = '/approvals'] = request.url.split('?')
  const isOfAll = path === '/approvals'
  const wantedOf = (name: string) => ({ ...filter, pageSize, pageToken: query.get(name) ?? '' })
  const lists = listsOf(work, clients)
  const missing: string[] = []
  const part = async (
    heading: string,
    name: string,
    list: (wanted: Wanted) => Promise<ListApprovalsResponse>,
  ) => {
    const found = await answered(missing, `approvals of ${heading.toLowerCase()}`, () =>
      list(wantedOf(name)),
    )
    if (found === undefined) return []
    const section = await approvalsSection(work, found.approvals, heading)
    return [{ ...section, ...nextPageUrl(request.url, found.nextPageToken, name) }]
  }
  const mistake = projectMistake(filter)
  const [refunds, bills] = await Promise.all([
    mistake === undefined ? part('Refunds', 'refunds', lists.refunds) : [],
    mistake === undefined && lists.bills !== undefined ? part('Bills', 'page', lists.bills) : [],
  ])
  const options = [
    { value: '', label: 'waiting' },
    { value: 'all', label: 'all' },
  ]
  const state = query.get('state') ?? ''
  const project: Field = {
    label: 'Project id',
    name: 'project',
    value: filter.projectId,
    maxlength: 36,
    mistake,
  }
  const page: Page = {
    title: 'Approvals',
    notice: noticeOf(query, approvalNotices),
    sections: [
      ...missingSection(missing),
      {
        note: 'Somebody has requested these. Another person whose role allows it approves or rejects them within 72 hours.',
        filters: {
          fields: [
            { label: 'State', name: 'state', type: 'select', value: state, options },
            ...(isOfAll ? [project] : []),
            {
              label: 'Payment or bill',
              name: 'subject',
              value: query.get('subject') ?? '',
              maxlength: 255,
            },
            { label: 'Approval id', name: 'approval', value: filter.approvalId, maxlength: 36 },
          ],
          links: [{ label: 'CSV', href: withFilters(`${path}.csv`, request.url) }],
        },
      },
      ...refunds,
      ...bills,
    ],
  }
  return sendSections(reply, page, mistake === undefined ? 200 : 400)
}

const csvHead = [
  'approval_id',
  'kind',
  'project_id',
  'about',
  'amount',
  'currency',
  'decision',
  'why',
  'state',
  'requested',
  'requester',
  'decided',
  'decider',
  'decision_note',
]

/** The list of both services as one file, with the names of people as the audits have them. */
function sendFile(work: Work, clients: Clients, filter: Filter) {
  const mistake = projectMistake(filter)
  if (mistake !== undefined) throw invalid('project', mistake)
  const { refunds, bills } = listsOf(work, clients)
  const lists = [refunds, ...(bills === undefined ? [] : [bills])].map(
    (list) =>
      async (pageToken: string): Promise<CsvPage> => {
        const page = await list({ ...filter, pageSize: csvPageSize, pageToken })
        return { rows: page.approvals.map(csvCells), nextPageToken: page.nextPageToken }
      },
  )
  return sendCsv(work, 'approvals', csvHead, chained(lists))
}

function csvCells(one: Approval): string[] {
  const { minorUnits = 0n, currency = '' } = one.amount ?? {}
  return [
    one.approvalId,
    wordOf(ApprovalKind, one.kind),
    one.projectId,
    one.subjectId,
    formatAmount(minorUnits, currency),
    currency,
    one.outcome || 'refund',
    one.note,
    wordOf(ApprovalState, one.state),
    timeOf(one.createTime)?.iso ?? '',
    one.requester,
    timeOf(one.decideTime)?.iso ?? '',
    one.decider,
    one.decisionNote,
  ]
}

/** How many refunds and bills wait for a second person, and where; nothing when none does. A service that does not answer is missing. */
export async function waitingSection(
  { refundApprovals, billApprovals }: Clients,
  missing: string[],
): Promise<Section[]> {
  const waiting = { state: ApprovalState.WAITING, pageSize: maxCounted }
  const [refunds, bills] = await Promise.all([
    answered(missing, 'approvals of refunds', () => refundApprovals.listApprovals(waiting)),
    answered(missing, 'approvals of bills', () => billApprovals.listApprovals(waiting)),
  ])
  const facts = [...countFacts('Refunds', refunds), ...countFacts('Bills', bills)]
  if (![refunds, bills].some((list) => (list?.approvals.length ?? 0) > 0)) return []
  return [
    {
      heading: 'For a second person',
      facts,
      rpc: 'payweave.approvals.v1.ApprovalService/ListApprovals',
      commands: ['approval list', 'approval approve', 'approval reject'],
    },
  ]
}

function countFacts(name: string, list: ListApprovalsResponse | undefined): Fact[] {
  if (list === undefined) return []
  const more = list.nextPageToken === '' ? '' : ' or more'
  return [[name, row(`${list.approvals.length}${more}`, '/approvals')]]
}

/** A list of approvals, with what the reader may do about those that wait. */
export async function approvalsSection(
  work: Work,
  approvals: Approval[],
  heading: string,
): Promise<Section> {
  const nameOf = await work.namesOf(
    approvals.flatMap(({ requester, decider }) => [requester, decider]),
  )
  return {
    heading,
    table: {
      head: ['Requested', 'About', 'Amount', 'Decision', 'Why', 'State', 'Decided', 'Decide'],
      empty:
        'Nothing was requested. The refund of a payment and the decision on a bill are requested on their pages.',
      rows: approvals.map((one) => approvalRow(work, one, nameOf)),
    },
    rpc: 'payweave.approvals.v1.ApprovalService/ListApprovals',
    commands: ['approval list', 'approval approve', 'approval reject'],
  }
}

function approvalRow(work: Work, approval: Approval, nameOf: NameOf): Cell[] {
  const { subjectId, kind, projectId, requester, decider } = approval
  const things = kind === ApprovalKind.BILL ? 'bills' : 'payments'
  const path = `/projects/${projectId}/${things}/${encodeURIComponent(subjectId)}`
  const own = recordName(work.session.person)
  const shown = (name: string) => (name === own ? 'you' : nameOf(name))
  return [
    { at: approval.createTime, by: shown(requester) },
    code(subjectId, path),
    moneyCell(approval.amount),
    text(approval.outcome || 'refund'),
    text(approval.note),
    { state: wordOf(ApprovalState, approval.state) },
    decider === '' ? text(approval.decisionNote) : { at: approval.decideTime, by: shown(decider) },
    decisionCell(work, approval, requester === own),
  ]
}

const rejectRpc = 'payweave.approvals.v1.ApprovalService/Reject'
const requestedBy = {
  [ApprovalKind.REFUND]: 'payweave.payments.v1.PaymentsService/RefundPayment',
  [ApprovalKind.BILL]: 'payweave.billing.v1.CatalogueService/ResolveReview',
  [ApprovalKind.UNSPECIFIED]: undefined,
} as const

function decisionCell(work: Work, approval: Approval, isOwn: boolean): Cell {
  const { projectId, approvalId, kind, state } = approval
  if (state !== ApprovalState.WAITING) return text('')
  const rpc = requestedBy[kind]
  if (rpc === undefined || !work.may(rpc)) return text('finance decides')
  const path = `/projects/${projectId}/approvals/${approvalId}`
  const hidden = { kind: wordOf(ApprovalKind, kind), back: work.request.url }
  const rejection: Form = { action: `${path}/reject`, button: 'Reject', rpc: rejectRpc, hidden }
  rejection.fields = [{ label: 'Why', name: 'note', maxlength: 2_000 }]
  if (isOwn) return { forms: [{ ...rejection, button: 'Withdraw' }] }
  const consent: Form = {
    action: `${path}/approve`,
    button: 'Approve',
    rpc: 'payweave.approvals.v1.ApprovalService/Approve',
    hidden,
    isDangerous: true,
  }
  return { forms: [consent, rejection] }
}
