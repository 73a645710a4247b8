// The ledger for the staff: its settlements, its rules, and one transfer or hold as a T-account.
import type { FastifyInstance } from 'fastify'
import { isUuid } from '#core/identity/id.ts'
import {
  type Hold,
  HoldState,
  type LedgerFinding,
  type Posting,
  type Transfer,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type {
  GetBackfillResponse,
  RefusedSettlement,
} from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { Clients } from '../clients.ts'
import type { May } from '../http/shell.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import {
  amount,
  type Cell,
  code,
  count,
  type Notices,
  noticeOf,
  type Section,
  text,
} from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, wordOf } from '../pages/words.ts'
import { orUndefined } from './found.ts'
import { claimNotices, decideClaimed, readClaims, type ShowClaim } from './inbox/claims.ts'
import { retryOf } from './inbox/items.ts'
import { aboutCell, accountCell, ledgerFact, ledgerPath } from './ledger-links.ts'
import { formId, idIn, nextPageUrl, noneMatches, sendCsv, withFilters } from './list.ts'

type Options = { worker: Worker; clients: Clients }

/** Rows of the last check; a check now lists all. */
const maxFindings = 20
/** Refused settlements of a page; each has two forms. */
const pageSize = 20
const csvPageSize = 200
/** The check reads the whole ledger. It answers before this, with what it has checked by then. */
const checkTimeoutMs = 60_000

/** Registers `/ledger` and its check. */
export function registerLedger(app: FastifyInstance, { worker, clients }: Options): void {
  app.get(
    '/ledger',
    worker.page((work) => show(work, clients)),
  )
  app.get(
    '/ledger/refused.csv',
    worker.page(
      (work) =>
        sendCsv(work, 'refused-settlements', refusedHead, async (pageToken) => {
          const page = await readRefused(work, clients, { pageToken, pageSize: csvPageSize })
          return { rows: page.refused.map(refusedCells), nextPageToken: page.nextPageToken }
        }),
      asFile,
    ),
  )
  app.post(
    '/ledger/check',
    worker.page(async ({ reply }) => {
      const found = await clients.ledger.checkLedger({}, { timeoutMs: checkTimeoutMs })
      return sendSections(reply, {
        title: 'Check of the ledger',
        notice:
          found.findings.length + found.uncheckedRules.length === 0
            ? `${found.transfersChecked} transfers keep every rule.`
            : undefined,
        sections: [
          {
            ...findingsOf(found.findings, found.uncheckedRules),
            rpc: 'payweave.accounts.v1.LedgerService/CheckLedger',
          },
        ],
      })
    }, asFile),
  )
  app.post(
    '/ledger/backfill',
    worker.page(async ({ reply }) => {
      await clients.settlements.restartBackfill({})
      return reply.redirect('/ledger?notice=restarted', 303)
    }),
  )
  app.post(
    '/ledger/settlements/retry',
    worker.page(async (work) => {
      const settlementId = formId(work.form, 'settlement_id')
      const { refused } = await decideClaimed(work, clients, 'settlement', settlementId, () =>
        clients.settlements.retrySettlement({ settlementId }),
      )
      return work.reply.redirect(
        `/ledger?notice=${refused === undefined ? 'posted' : 'refused'}`,
        303,
      )
    }),
  )
}

const notices: Notices = {
  ...claimNotices,
  posted: 'The ledger has the settlement now.',
  refused: 'The ledger has refused the settlement again. The list has the reason.',
  restarted: 'All settlements are compared again from the first.',
}

/** A page of the refused settlements, or the one that the query asks for. Throws INVALID_PARAMETER for an invalid id. */
async function readRefused(
  { query }: Work,
  { settlements }: Clients,
  page: { pageToken: string; pageSize: number },
): Promise<GetBackfillResponse> {
  const settlementId = idIn(query, 'settlement')
  const read = await settlements.getBackfill({ settlementId, ...page })
  if (settlementId === '') return read
  // A replica of the previous release, without the filter, answers with others.
  const refused = read.refused.filter((one) => one.settlementId === settlementId)
  return { ...read, refused, nextPageToken: '' }
}

async function show(work: Work, clients: Clients) {
  const { request, reply, query, may } = work
  const [settlements, last, entry] = await Promise.all([
    readRefused(work, clients, { pageToken: query.get('page') ?? '', pageSize }),
    clients.ledger.getLastLedgerCheck({}),
    entryOf(work, clients),
  ])
  const claim = await readClaims(
    work,
    clients,
    settlements.refused.map(({ settlementId }) => ['settlement', settlementId]),
  )
  return sendSections(reply, {
    title: 'Ledger',
    notice: noticeOf(query, notices),
    sections: [
      {
        heading: 'Rules',
        note: 'Accounts checks every transfer, hold and balance every five minutes. A check that you start locks nothing and stops after a minute.',
        facts: [
          ['Last check', last.checkTime === undefined ? text('none') : { at: last.checkTime }],
          ['Transfers', count(last.transfersChecked)],
        ],
        ...findingsOf(last.findings.slice(0, maxFindings), last.uncheckedRules),
        forms: [
          {
            action: '/ledger/check',
            button: 'Check now',
            rpc: 'payweave.accounts.v1.LedgerService/CheckLedger',
          },
        ],
        rpc: 'payweave.accounts.v1.LedgerService/GetLastLedgerCheck',
        commands: ['ledger last-check', 'ledger check'],
      },
      {
        heading: 'A transfer or a hold',
        commands: ['ledger show'],
        filters: {
          fields: [
            {
              label: 'Project id',
              name: 'project',
              value: query.get('project') ?? '',
              maxlength: 36,
            },
            {
              label: 'Transfer or hold id',
              name: 'id',
              value: query.get('id') ?? '',
              maxlength: 36,
            },
          ],
        },
        ...entry,
      },
      {
        ...settlementsSection(
          work,
          settlements,
          claim,
          may('payweave.accounts.v1.SettlementPostingService/RestartBackfill'),
        ),
        ...nextPageUrl(request.url, settlements.nextPageToken),
      },
    ],
  })
}

/** The list of what violates the rules, and which of them could not be checked. */
function findingsOf(
  findings: LedgerFinding[],
  uncheckedRules: readonly string[],
): Pick<Section, 'warning' | 'table'> {
  const violated = findings.length === 0 ? [] : ['The ledger violates its rules.']
  const unchecked =
    uncheckedRules.length === 0 ? [] : [`Not checked: ${uncheckedRules.join(', ')}.`]
  const warning = [...violated, ...unchecked].join(' ')
  return {
    warning: warning || undefined,
    table: {
      head: ['Rule', 'Finding'],
      empty: 'No finding.',
      rows: findings.map(({ rule, description }) => [code(rule), text(description)]),
    },
  }
}

/** The T-account of an entry, or that there is none. */
async function entryOf({ query, may }: Work, { ledger }: Clients): Promise<Section> {
  const projectId = query.get('project') ?? ''
  const id = query.get('id') ?? ''
  if (!isUuid(projectId) || !isUuid(id)) return {}
  const transfer = await orUndefined(() => ledger.getTransfer({ projectId, transferId: id }))
  if (transfer?.transfer !== undefined) return transferSection(transfer.transfer)
  const hold = await orUndefined(() => ledger.getHold({ projectId, holdId: id }))
  if (hold?.hold !== undefined) return holdSection(hold.hold, may)
  return { warning: 'The project has neither a transfer nor a hold with this id.' }
}

function transferSection(transfer: Transfer): Section {
  const { details, projectId } = transfer
  const other = (id: string) => code(id, id === '' ? undefined : ledgerPath(projectId, id))
  return {
    facts: [
      ['Transfer', code(transfer.transferId)],
      ['Posted', { at: transfer.postTime }],
      ['Type', text(details?.method ?? '')],
      ['Reference', text(details?.reference ?? '')],
      ['Description', text(details?.description ?? '')],
      ['About', aboutCell(transfer)],
      ['Reverses', other(transfer.reversesId)],
      ['Reversed by', other(transfer.reversedById)],
    ],
    table: {
      head: ['Account', 'Debit', 'Credit'],
      empty: 'No lines.',
      rows: transfer.postings.map((line) => lineOf(projectId, line)),
    },
    rpc: 'payweave.accounts.v1.LedgerService/GetTransfer',
  }
}

function lineOf(projectId: string, { address, amount: moved }: Posting): Cell[] {
  const minor = moved?.minorUnits ?? 0n
  const currency = moved?.currency ?? ''
  const isDebit = minor < 0n
  const shown = money(isDebit ? -minor : minor, currency)
  return [
    accountCell(projectId, address),
    amount(isDebit ? shown : ''),
    amount(isDebit ? '' : shown),
  ]
}

function holdSection(hold: Hold, may: May): Section {
  const { amount: held, details, projectId } = hold
  const reference = details?.reference ?? ''
  return {
    facts: [
      ['Hold', code(hold.holdId)],
      ['State', { state: wordOf(HoldState, hold.state) }],
      ['Account', accountCell(projectId, hold.address)],
      ['Amount', amount(money(held?.minorUnits ?? 0n, held?.currency ?? ''))],
      ['Created', { at: hold.createTime }],
      ['Expires', { at: hold.expireTime }],
      ['Reference', text(reference)],
      // What was posted after the hold had expired has an id of its own.
      ...(reference === '' ? [] : ledgerFact(may, projectId, reference)),
    ],
    rpc: 'payweave.accounts.v1.LedgerService/GetHold',
  }
}

function settlementsSection(
  { request, query }: Work,
  { backfill, refused }: GetBackfillResponse,
  claim: ShowClaim,
  mayRestart: boolean,
): Section {
  return {
    heading: 'Settlements of payments',
    facts: [
      ['Round', text(backfill?.round ?? 0n)],
      ['Compared', text(backfill?.checkedCount ?? 0n)],
      ['Posted late', text(backfill?.postedCount ?? 0n)],
      ['Began', { at: backfill?.startTime }],
      ['Reached the end', { at: backfill?.caughtUpTime }],
    ],
    filters: {
      fields: [
        {
          label: 'Refused settlement id',
          name: 'settlement',
          value: query.get('settlement') ?? '',
          maxlength: 36,
        },
      ],
      links: [{ label: 'CSV', href: withFilters('/ledger/refused.csv', request.url) }],
    },
    table: {
      head: ['Found', 'Settlement', 'Project', 'Reason', 'Claimed by', 'Decide'],
      empty: query.has('settlement')
        ? noneMatches('settlement')
        : 'The ledger has refused no settlement.',
      rows: refused.map((one) => [
        { at: one.refuseTime },
        code(one.settlementId),
        code(one.projectId),
        text(one.reason),
        ...claim('settlement', one.settlementId, [retryOf(one.settlementId)]),
      ]),
    },
    forms: mayRestart
      ? [
          {
            action: '/ledger/backfill',
            button: 'Compare all again',
            rpc: 'payweave.accounts.v1.SettlementPostingService/RestartBackfill',
          },
        ]
      : [],
    rpc: [
      'payweave.accounts.v1.SettlementPostingService/GetBackfill',
      'payweave.accounts.v1.SettlementPostingService/RetrySettlement',
    ],
    commands: ['ledger refused', 'ledger retry', 'ledger backfill'],
  }
}

const refusedHead = ['settlement_id', 'project_id', 'reason', 'found']

function refusedCells(one: RefusedSettlement): string[] {
  return [one.settlementId, one.projectId, one.reason, timeOf(one.refuseTime)?.iso ?? '']
}
