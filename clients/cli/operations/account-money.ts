// The commands on the money of an account by the public API, with the keys of a merchant alone.
import type { AccountTransaction, AccountTransactionFilter } from '../../sdk-typescript/index.ts'
import { oneOperand } from '../access.ts'
import { merchantOf, merchantOptions, signalOf } from '../api/merchant.ts'
import type { Command, CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { createdOptions } from './list-command.ts'
import { printFacts, windowOf } from './merchant-output.ts'

const operands = '<mobile number>'

/** The commands of `account`. */
export const accountCommands: Command[] = [
  {
    name: 'account balance',
    operands,
    summary: 'Shows the balance of an account, by the public API.',
    example: 'account balance +12025550101',
    options: merchantOptions,
    run: balance,
  },
  {
    name: 'account history',
    operands,
    summary:
      'Lists the transactions of an account, newest first, by the public API; of seven days without --created-from.',
    example: 'account history +12025550101 --created-from "2026-12-01 00:00:00"',
    options: { ...merchantOptions, ...createdOptions, limit: 'maximum number (50)' },
    run: history,
  },
]

const balanceFields = [
  'mobile_number',
  'currency',
  'current_balance',
  'available_balance',
  'reserved_balance',
  'uncleared_balance',
  'account_status',
  'as_of',
] as const

async function balance(context: CommandContext): Promise<void> {
  const number = oneOperand(context, 'mobile number')
  const { data } = await merchantOf(context).accounts.balance(number, signalOf(context))
  printFacts(context, balanceFields, data)
}

async function history(context: CommandContext): Promise<void> {
  const [start, end] = windowOf(context)
  const count = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
  const filter: AccountTransactionFilter = {
    mobile_number: oneOperand(context, 'mobile number'),
    ...(start !== undefined && { start_date: start }),
    ...(end !== undefined && { end_date: end }),
    limit: Math.min(count, 200),
  }
  const pages = merchantOf(context).accounts.transactions(filter, signalOf(context))
  await printList(context, shape, [await pages.take(count)])
}

const shape: ListShape<AccountTransaction> = {
  headings: ['POSTED', 'TRANSACTION', 'TYPE', 'STATUS', 'AMOUNT', 'FEES', 'METHOD', 'DESCRIPTION'],
  cells: (one) => [
    one.posted_date ?? '-',
    printable(one.transaction_id),
    one.type,
    one.status,
    `${one.amount} ${one.currency}`,
    one.fees,
    printable(one.transaction_method),
    printable(one.description),
  ],
  json: (one) => JSON.stringify(one),
  none: 'no transactions',
}
