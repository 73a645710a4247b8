// Everything that waits for a person of the staff as one list by age, and the same as a CSV file.
import type { FastifyInstance } from 'fastify'
import { invalid } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Clients } from '../../clients.ts'
import { answered, missingSection } from '../../http/answered.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import { amount, type Notices, noticeOf, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf } from '../../pages/words.ts'
import { rejectedEvents } from '../administration/event-dead-letters.ts'
import { lookMs } from '../found.ts'
import { ledgerPath } from '../ledger-links.ts'
import {
  type CsvPage,
  formId,
  idIn,
  nextPageUrl,
  noneMatches,
  oneOf,
  sendCsv,
  withFilters,
} from '../list.ts'
import type { Looker, Thing } from '../look-up.ts'
import { approvalNotices, waitingSection } from './approvals.ts'
import { byAge, pageByAge } from './by-age.ts'
import { claimNotices, decideClaimed, noClaims, readClaims, type ShowClaim } from './claims.ts'
import {
  type AgedKind,
  agedKinds,
  asFarAsAnswered,
  type InboxItem,
  type ItemFilter,
  kindWords,
  listRpcs,
  nameOf,
  projectCell,
  sourcesOf,
} from './items.ts'

/** Most rows have a form. */
const pageSize = 20
const csvPageSize = 100

type Options = { worker: Worker; clients: Clients }

/** Registers `/inbox`, its file and its decisions. */
export function registerInbox(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/inbox',
    worker.page((work) => show(work, clients)),
  )
  app.get(
    '/inbox.csv',
    worker.page((work) => sendFile(work, clients), asFile),
  )
  app.post(
    '/inbox/bills',
    worker.page(async (work) => {
      const { reply, form } = work
      const review = {
        projectId: formId(form, 'project_id'),
        transactionId: form.get('transaction_id') ?? '',
        // What was claimed: billing decides only on a payment that has both ids.
        billPaymentId: formId(form, 'item_id'),
        decision: decisionOf(form),
        note: form.get('note')?.trim() ?? '',
      }
      const { approval } = await decideClaimed(work, clients, 'bill', review.billPaymentId, () =>
        clients.catalogue.resolveReview(review),
      )
      const next = approval === undefined ? 'again' : 'requested'
      return reply.redirect(`/inbox?notice=${next}`, 303)
    }),
  )
  app.post(
    '/inbox/refunds',
    worker.page(async (work) => {
      const { reply, form } = work
      const refundId = formId(form, 'refund_id')
      const note = form.get('note')?.trim() ?? ''
      await decideClaimed(work, clients, 'refund', refundId, () =>
        clients.paymentOperations.settleRefund({ refundId, note }),
      )
      return reply.redirect('/inbox?notice=settled', 303)
    }),
  )
  app.post(
    '/inbox/suspense',
    worker.page(async (work) => {
      const { reply, form } = work
      const paymentId = formId(form, 'payment_id')
      const itemId = formId(form, 'item_id')
      const { postedCount, refused } = await decideClaimed(work, clients, 'suspense', itemId, () =>
        clients.settlements.postPaymentSettlements({ paymentId }),
      )
      const next = refused.length > 0 ? 'unposted' : postedCount > 0 ? 'posted' : 'complete'
      return reply.redirect(`/inbox?notice=${next}`, 303)
    }),
  )
}

const notices: Notices = {
  ...claimNotices,
  ...approvalNotices,
  again: 'The biller is asked again.',
  accepted: 'The profile is accepted: its account is available.',
  rejected: 'The profile is rejected.',
  accepted_instead: 'The profile was accepted before; that decision stands.',
  rejected_instead:
    'The profile is rejected: an account has its number, or another decision came before.',
  posted: 'The ledger has the refund now: what has left suspense is off the list.',
  unposted: 'The ledger refuses a settlement of this payment. It is on the list with its reason.',
  complete:
    'The ledger has all settlements of this payment. Compare the provider’s statement with its page.',
  settled: 'The refund is off the list. The ledger keeps its amount under refunds_unpaid.',
}

function decisionOf(form: URLSearchParams) {
  const decision = form.get('decision')
  const code = form.get('failed_with')?.trim() ?? ''
  if (form.get('note')?.trim() === '') throw invalid('note', 'must say on what evidence')
  if (decision === 'failed') return { case: 'failedWith' as const, value: code }
  if (code !== '') throw invalid('failed_with', 'is for a payment that failed')
  if (decision === 'paid') return { case: 'paid' as const, value: true }
  if (decision === 'again') return { case: 'enquireAgain' as const, value: true }
  throw invalid('decision', 'must be one of the three')
}

/** Reads the filter from the query. Throws INVALID_PARAMETER for an invalid id or kind. */
function filterOf({ query }: Work): ItemFilter {
  return { kind: oneOf(query, 'kind', agedKinds), id: idIn(query, 'item') }
}

/** Kinds whose items have no page of their own. */
const pagelessKinds = new Set<AgedKind>(['bill', 'refund', 'suspense', 'settlement'])

/**
 * The Inbox with the item of this id alone, if one without a page of its own waits, in this project or in any; and the transfer of
 * the ledger that has the id of money in suspense. An item of a service that does not answer is among what is missing.
 */
export async function findItem(
  { may, within, missing }: Looker,
  clients: Clients,
  id: string,
  projectId?: string,
): Promise<(Thing & { rpc: string })[]> {
  if (!isUuid(id) || !may(listRpcs.bill)) return []
  // A replica of the previous release, without the filter by id, answers with others.
  const sources = sourcesOf({ may }, clients, { id }, csvPageSize).filter(({ kind }) =>
    pagelessKinds.has(kind),
  )
  const look = () =>
    Promise.all(sources.map((one) => asFarAsAnswered(one, missing, lookMs).read('')))
  const found = (await within(undefined, look)).flatMap(({ items }) => items)
  const item = found.find((one) => (projectId ?? one.projectId) === one.projectId)
  if (item === undefined) return []
  const inInbox = {
    path: `/inbox?item=${id}`,
    label: kindWords[item.kind],
    rpc: listRpcs[item.kind],
  }
  const rpc = 'payweave.accounts.v1.LedgerService/GetTransfer'
  if (item.kind !== 'suspense' || !may(rpc)) return [inInbox]
  return [inInbox, { path: ledgerPath(item.projectId, id), label: 'ledger transfer', rpc }]
}

async function show(work: Work, clients: Clients) {
  const { request, reply, query } = work
  const filter = filterOf(work)
  const missing: string[] = []
  const sources = sourcesOf(work, clients, filter, pageSize)
  const [waiting, events, page] = await Promise.all([
    waitingSection(clients, missing),
    answered(missing, 'events that were rejected', () => rejectedEvents(clients)),
    pageByAge(
      sources.map((one) => asFarAsAnswered(one, missing)),
      query.get('page') ?? '',
      pageSize,
    ),
  ])
  const items = page.items.map((item) => [item.kind, item.id] as const)
  const look = () => readClaims(work, clients, items)
  const claim = (await answered(missing, 'who works on what', look)) ?? noClaims
  return sendSections(reply, {
    title: 'Inbox',
    notice: noticeOf(query, notices),
    sections: [
      ...missingSection(missing),
      ...waiting,
      {
        note: 'The oldest first. Ask the biller or the provider by another way before you request a decision on a bill, which a second person approves, pay the payer of a failed refund yourself, correct what a settlement was refused for before you retry it, and open the profile of a new customer. Money in suspense came without a claim on it and is refunded by itself, once: what stays lacks a settlement in the ledger, which its button posts. Of suspense these are the oldest 200.',
        filters: {
          fields: [
            {
              label: 'What',
              name: 'kind',
              type: 'select',
              value: filter.kind ?? '',
              options: [
                { value: '', label: 'any' },
                ...agedKinds.map((one) => ({ value: one, label: kindWords[one] })),
              ],
            },
            { label: 'Item id', name: 'item', value: filter.id, maxlength: 36 },
          ],
          links: [{ label: 'CSV', href: withFilters('/inbox.csv', request.url) }],
        },
        table: {
          head: ['Since', 'What', 'Item', 'Project', 'About', 'Amount', 'Claimed by', 'Decide'],
          empty: filter.id === '' ? 'Nothing waits for a person.' : noneMatches('item'),
          rows: page.items.map((item) => lineOf(item, claim)),
        },
        ...nextPageUrl(request.url, page.nextPageToken),
        rpc: sources.map((one) => listRpcs[one.kind]),
        commands: [
          'onboarding list',
          'bill reviews',
          'refund list',
          'balance suspense',
          'ledger post',
          'ledger refused',
          'deliveries dead-letters',
          'claim take',
        ],
      },
      ...(events ?? []),
    ],
  })
}

function lineOf(item: InboxItem, claim: ShowClaim) {
  const [who, does] =
    item.approvalPath === undefined
      ? claim(item.kind, item.id, item.decisions)
      : [text(''), { text: 'waits for a second person', href: item.approvalPath }]
  return [
    { at: item.since },
    text(kindWords[item.kind]),
    item.name,
    projectCell(item),
    text(item.about),
    amount(item.amount),
    who,
    // The page of a new customer has the decision, and who may claim it.
    item.kind === 'onboarding' ? text('') : does,
  ]
}

const csvHead = ['since', 'what', 'id', 'item', 'project_id', 'about', 'amount']

function sendFile(work: Work, clients: Clients) {
  const items = byAge(sourcesOf(work, clients, filterOf(work), csvPageSize))
  return sendCsv(work, 'inbox', csvHead, async (): Promise<CsvPage> => {
    const rows: string[][] = []
    while (rows.length < csvPageSize) {
      const next = await items.next()
      if (next.done === true) return { rows, nextPageToken: '' }
      rows.push(csvCells(next.value.item))
    }
    return { rows, nextPageToken: 'more' }
  })
}

function csvCells(item: InboxItem): string[] {
  const { kind, id, since, projectId, about } = item
  return [
    timeOf(since)?.iso ?? '',
    kindWords[kind],
    id,
    nameOf(item),
    projectId,
    about,
    item.amount,
  ]
}
