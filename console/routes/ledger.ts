// The ledger for the staff: its settlements, its rules, and one transfer or hold as a T-account.
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { isUuid } from '#core/identity/id.ts'
import {
  type Hold,
  HoldState,
  InternalAccount,
  type LedgerAddress,
  type Posting,
  type Transfer,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type {
  GetBackfillResponse,
  RefusedSettlement,
} from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import type { Clients } from '../clients.ts'
import { asFile, type Work, type Worker } from '../http/work.ts'
import { amount, type Cell, code, count, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import { money, timeOf, wordOf } from '../pages/words.ts'
import type { LedgerCheck, Parts } from '../parts/reader.ts'
import { orUndefined } from './found.ts'
import { readClaims, type ShowClaim, saidOfClaims } from './inbox/claims.ts'
import { sendCsv } from './list.ts'

type Options = { worker: Worker; clients: Clients; parts: Parts }

/** The check reads the whole ledger. */
const checkTimeoutMs = 60_000

/** Registers `/ledger` and its check. */
export function registerLedger(app: FastifyInstance, { worker, clients, parts }: Options): void {
  app.get(
    '/ledger',
    worker.page((work) => show(work, clients, parts.seen()?.ledgerCheck)),
  )
  app.get(
    '/ledger/refused.csv',
    worker.page(
      (work) =>
        sendCsv(work, 'refused-settlements', refusedHead, async () => {
          const { refused } = await clients.settlements.getBackfill({})
          return { rows: refused.map(refusedCells), nextPageToken: '' }
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
        said:
          found.findings.length === 0
            ? `${found.transfersChecked} transfers keep every rule.`
            : undefined,
        sections: [
          {
            warning: found.findings.length === 0 ? undefined : 'The ledger violates its rules.',
            table: {
              head: ['Rule', 'Finding'],
              empty: 'No finding.',
              rows: found.findings.map(({ rule, description }) => [code(rule), text(description)]),
            },
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
      return reply.redirect('/ledger?said=restarted', 303)
    }),
  )
}

const said: Record<string, string> = {
  ...saidOfClaims,
  restarted: 'All settlements are compared again from the first.',
}

async function show(work: Work, clients: Clients, last: LedgerCheck | undefined) {
  const { reply, query, may } = work
  const [settlements, entry] = await Promise.all([
    clients.settlements.getBackfill({}),
    entryOf(clients, query.get('project') ?? '', query.get('id') ?? ''),
  ])
  const claim = await readClaims(
    work,
    clients,
    settlements.refused.map(({ settlementId }) => ['settlement', settlementId]),
  )
  return sendSections(reply, {
    title: 'Ledger',
    said: said[query.get('said') ?? ''],
    sections: [
      {
        heading: 'Rules',
        note: 'Checks every transfer, hold and balance. It locks nothing and may take a minute.',
        facts: checkFacts(last),
        forms: [{ action: '/ledger/check', button: 'Check now' }],
      },
      {
        heading: 'A transfer or a hold',
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
      settlementsSection(
        settlements,
        claim,
        may('payweave.accounts.v1.SettlementPostingService/RestartBackfill'),
      ),
    ],
  })
}

/** The last check that accounts made by itself. */
function checkFacts(last: LedgerCheck | undefined): [string, Cell][] {
  if (last === undefined) return [['Last check', text('none that the console has seen')]]
  const { timeMs, findings } = last
  return [
    ['Last check', { at: timestampFromMs(timeMs) }],
    ['Its findings', count(findings)],
  ]
}

/** The T-account of an entry, or that there is none. */
async function entryOf({ ledger }: Clients, projectId: string, id: string): Promise<Section> {
  if (!isUuid(projectId) || !isUuid(id)) return {}
  const transfer = await orUndefined(() => ledger.getTransfer({ projectId, transferId: id }))
  if (transfer?.transfer !== undefined) return transferSection(transfer.transfer)
  const hold = await orUndefined(() => ledger.getHold({ projectId, holdId: id }))
  if (hold?.hold !== undefined) return holdSection(hold.hold)
  return { warning: 'The project has neither a transfer nor a hold with this id.' }
}

function transferSection(transfer: Transfer): Section {
  const { details } = transfer
  return {
    facts: [
      ['Transfer', code(transfer.transferId)],
      ['Posted', { at: transfer.postTime }],
      ['Type', text(details?.method ?? '')],
      ['Reference', text(details?.reference ?? '')],
      ['Description', text(details?.description ?? '')],
      ['Reverses', code(transfer.reversesId)],
      ['Reversed by', code(transfer.reversedById)],
    ],
    table: {
      head: ['Account', 'Debit', 'Credit'],
      empty: 'No lines.',
      rows: transfer.postings.map(lineOf),
    },
    rpc: 'payweave.accounts.v1.LedgerService/GetTransfer',
  }
}

function lineOf({ address, amount: moved }: Posting): Cell[] {
  const minor = moved?.minorUnits ?? 0n
  const currency = moved?.currency ?? ''
  const isDebit = minor < 0n
  const shown = money(isDebit ? -minor : minor, currency)
  return [accountOf(address), amount(isDebit ? shown : ''), amount(isDebit ? '' : shown)]
}

function accountOf(address: LedgerAddress | undefined): Cell {
  const { holder } = address ?? {}
  if (holder?.case === 'internal') return text(wordOf(InternalAccount, holder.value))
  if (holder?.case === 'floatProjectId') return text('float')
  return code(holder?.value ?? '')
}

function holdSection(hold: Hold): Section {
  const { amount: held, details } = hold
  return {
    facts: [
      ['Hold', code(hold.holdId)],
      ['State', { state: wordOf(HoldState, hold.state) }],
      ['Account', accountOf(hold.address)],
      ['Amount', amount(money(held?.minorUnits ?? 0n, held?.currency ?? ''))],
      ['Created', { at: hold.createTime }],
      ['Expires', { at: hold.expireTime }],
      ['Reference', text(details?.reference ?? '')],
    ],
    rpc: 'payweave.accounts.v1.LedgerService/GetHold',
  }
}

function settlementsSection(
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
      ['File of those below', { text: 'CSV', href: '/ledger/refused.csv' }],
    ],
    table: {
      head: ['Found', 'Settlement', 'Project', 'Reason', 'Claimed by', 'Claim'],
      empty: 'The ledger has refused no settlement.',
      rows: refused.map((one) => [
        { at: one.refuseTime },
        code(one.settlementId),
        code(one.projectId),
        text(one.reason),
        ...claim('settlement', one.settlementId, []),
      ]),
    },
    forms: mayRestart ? [{ action: '/ledger/backfill', button: 'Compare all again' }] : [],
    rpc: 'payweave.accounts.v1.SettlementPostingService/GetBackfill',
  }
}

const refusedHead = ['settlement_id', 'project_id', 'reason', 'found']

function refusedCells(one: RefusedSettlement): string[] {
  return [one.settlementId, one.projectId, one.reason, timeOf(one.refuseTime)?.iso ?? '']
}
