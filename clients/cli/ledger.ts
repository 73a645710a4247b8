// The commands on the ledger.
import { setTimeout as delay } from 'node:timers/promises'
import {
  CheckLedgerResponseSchema,
  GetLastLedgerCheckResponseSchema,
  LedgerService,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import {
  GetBackfillResponseSchema,
  type RefusedSettlement,
  SettlementPostingService,
} from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { accountsOptions } from './access.ts'
import type { Command, CommandContext } from './command.ts'
import { type Connection, connect } from './connection.ts'
import { jsonLine, printable, time } from './output/print.ts'
import { pagesOf } from './output/table.ts'

const lookAgainMs = 500

/** The commands of `ledger`. */
export const ledgerCommands: Command[] = [
  {
    name: 'ledger backfill',
    operands: '',
    summary: 'Compares all settlements with the ledger, posts missing ones, and waits for the end.',
    options: accountsOptions,
    run: (context) => withAccounts(context, backfill),
  },
  {
    name: 'ledger check',
    operands: '',
    summary:
      'Checks the rules of the ledger, for a minute at most; exits with 1 on a violation, or if a rule was not checked.',
    options: accountsOptions,
    run: (context) => withAccounts(context, check),
  },
  {
    name: 'ledger last-check',
    operands: '',
    summary:
      'Shows what the check that accounts makes every five minutes found; exits with 1 on a violation, or if a rule was not checked.',
    options: accountsOptions,
    run: (context) => withAccounts(context, lastCheck),
  },
]

async function withAccounts(
  context: CommandContext,
  work: (context: CommandContext, connection: Connection) => Promise<void>,
): Promise<void> {
  const connection = connect(context.options, context.env, 'accounts')
  try {
    await work(context, connection)
  } finally {
    await connection.close()
  }
}

async function backfill(context: CommandContext, connection: Connection): Promise<void> {
  const { json, print, stopping } = context
  const posting = connection.client(SettlementPostingService)
  // A round that ended has compared all settlements, and few are added since.
  const before = (await posting.getBackfill({})).backfill
  const total = before?.caughtUpTime === undefined ? 0 : Number(before.checkedCount)
  await posting.restartBackfill({})
  let state = await posting.getBackfill({})
  const progress = context.progress('checked')
  while (state.backfill?.caughtUpTime === undefined && !stopping.aborted) {
    await delay(lookAgainMs, undefined, { signal: stopping }).catch(() => undefined)
    state = await posting.getBackfill({})
    const checked = Number(state.backfill?.checkedCount ?? 0)
    progress.update(checked, total === 0 ? undefined : checked / total)
  }
  progress.stop()
  state.refused = []
  for await (const refused of refusedPages(connection)) state.refused.push(...refused)
  state.nextPageToken = ''
  if (json) {
    print(jsonLine(GetBackfillResponseSchema, state))
  } else {
    const { checkedCount = 0n, postedCount = 0n, refusedCount = 0n } = state.backfill ?? {}
    print(`checked ${checkedCount}  posted ${postedCount}  refused ${refusedCount}`)
    for (const { settlementId, reason, refuseTime } of state.refused) {
      print(`${time(refuseTime)}  ${settlementId}  ${printable(reason)}`)
    }
  }
  if (state.backfill?.caughtUpTime === undefined) throw new Error('interrupted before the end')
  if (state.refused.length > 0) throw new Error('some settlements cannot be posted')
}

/** All settlements that the ledger refused, oldest first. */
function refusedPages(connection: Connection): AsyncGenerator<RefusedSettlement[]> {
  const posting = connection.client(SettlementPostingService)
  return pagesOf(Number.POSITIVE_INFINITY, async (pageSize, pageToken) => {
    const { refused, nextPageToken } = await posting.getBackfill({ pageSize, pageToken })
    return { items: refused, nextPageToken }
  })
}

async function check(context: CommandContext, connection: Connection): Promise<void> {
  const { json, print } = context
  const answer = await connection.client(LedgerService).checkLedger({}, { timeoutMs: 60_000 })
  if (json) print(jsonLine(CheckLedgerResponseSchema, answer))
  else {
    for (const { rule, description } of answer.findings) print(`${rule}  ${printable(description)}`)
    print(`checked ${answer.transfersChecked} transfers  found ${answer.findings.length}`)
    printUnchecked(context, answer.uncheckedRules)
  }
  let refusedCount = 0
  for await (const refused of refusedPages(connection)) {
    refusedCount += refused.length
    if (json) continue
    for (const { settlementId, reason } of refused) {
      print(`settlement  ${settlementId}  ${printable(reason)}`)
    }
  }
  if (answer.findings.length + refusedCount > 0) throw new Error('the ledger violates a rule')
  requireChecked(answer.uncheckedRules)
}

function printUnchecked({ print }: CommandContext, uncheckedRules: readonly string[]): void {
  for (const rule of uncheckedRules) print(`${printable(rule)}  not checked`)
}

/** Throws an Error when a rule was not checked. */
function requireChecked(uncheckedRules: readonly string[]): void {
  if (uncheckedRules.length > 0) throw new Error('not every rule could be checked')
}

async function lastCheck(context: CommandContext, connection: Connection): Promise<void> {
  const { json, print } = context
  const answer = await connection.client(LedgerService).getLastLedgerCheck({})
  const { findings, transfersChecked, checkTime, uncheckedRules } = answer
  if (json) print(jsonLine(GetLastLedgerCheckResponseSchema, answer))
  else {
    for (const { rule, description } of findings) print(`${rule}  ${printable(description)}`)
    const when = `checked ${transfersChecked} transfers at ${time(checkTime)}`
    print(checkTime === undefined ? 'no whole check so far' : `${when}  found ${findings.length}`)
    printUnchecked(context, uncheckedRules)
  }
  if (findings.length > 0) throw new Error('the ledger violates a rule')
  requireChecked(uncheckedRules)
}
