// The commands that list the transfers of a project's ledger, and show one.
import { isUuid } from '#core/identity/id.ts'
import {
  InternalAccount,
  type LedgerAddress,
  LedgerService,
  type Transfer,
  TransferSchema,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Command } from '../command.ts'
import { time, valueOf, wordOf } from '../output/print.ts'
import { createdOptions, createdTimes, listCommand, money, showCommand } from './list-command.ts'

/** The commands on transfers of the ledger. */
export const ledgerListCommands: Command[] = [
  listCommand({
    name: 'ledger list',
    summary: 'Lists the transfers of a project in the ledger, newest first.',
    part: 'accounts',
    isOfProject: true,
    options: {
      account: "id of a customer's account, float, or an internal account such as held",
      type: 'for example payment, bill_payment or p2p',
      reference: 'transaction_id of a payment request or bill payment',
      ...createdOptions,
    },
    schema: TransferSchema,
    headings: ['POSTED', 'TRANSFER', 'TYPE', 'CREDITED', 'REFERENCE'],
    cells: (one) => [
      time(one.postTime),
      one.transferId,
      one.details?.method ?? '',
      creditsOf(one),
      one.details?.reference ?? '',
    ],
    none: 'no transfers',
    async read(reader, page) {
      const { connection, projectId, options } = reader
      const listed = await connection.client(LedgerService).listTransfers({
        projectId,
        account: accountOf(options['account']),
        method: options['type'] ?? '',
        reference: options['reference'] ?? '',
        ...createdTimes(reader),
        ...page,
      })
      return { items: listed.transfers, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'ledger show',
    summary: 'Shows a transfer with its postings; a positive amount is a credit.',
    operand: 'transfer id',
    part: 'accounts',
    isOfProject: true,
    schema: TransferSchema,
    async read({ connection, projectId }, transferId) {
      const ledger = connection.client(LedgerService)
      return (await ledger.getTransfer({ projectId, transferId })).transfer
    },
  }),
]

/** The account of the option, as the RPC takes it; no account without one. Throws a UsageError for another word. */
function accountOf(word: string | undefined) {
  if (word === undefined) return { case: undefined }
  if (isUuid(word)) return { case: 'accountId' as const, value: word }
  if (word === 'float') return { case: 'projectFloat' as const, value: true }
  return {
    case: 'internal' as const,
    value: valueOf(InternalAccount, word, 'account', ['a UUID', 'float']),
  }
}

/** The lines above zero: `25.00 USD to held`. */
function creditsOf({ postings }: Transfer): string {
  return postings
    .filter(({ amount }) => (amount?.minorUnits ?? 0n) > 0n)
    .map(({ amount, address }) => `${money(amount)} to ${nameOf(address)}`)
    .join(', ')
}

function nameOf(address: LedgerAddress | undefined): string {
  const { holder } = address ?? {}
  if (holder?.case === 'internal') return wordOf(InternalAccount, holder.value)
  return holder?.case === 'accountId' ? holder.value : 'float'
}
