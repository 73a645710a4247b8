// Links from pages to the ledger, and from ledger transfers to what they were for.
import { isUuid } from '#core/identity/id.ts'
import {
  InternalAccount,
  type LedgerAddress,
  type Transfer,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { May } from '../http/shell.ts'
import { type Cell, code, text } from '../pages/blocks.ts'
import { wordOf } from '../pages/words.ts'
import { billPattern } from './list.ts'

/** The page of a transfer of the ledger or a hold. */
export function ledgerPath(projectId: string, id: string): string {
  return `/ledger?${new URLSearchParams({ project: projectId, id }).toString()}`
}

/** The id of a transfer, which leads to its T-account for those who may open it. */
export function transferCell(may: May, projectId: string, id: string): Cell {
  const mayOpen = may('payweave.accounts.v1.LedgerService/GetTransfer')
  return code(id, mayOpen ? ledgerPath(projectId, id) : undefined)
}

/** A fact that leads to the transfers of one reference, for those who may list them. */
export function ledgerFact(may: May, projectId: string, reference: string): [string, Cell][] {
  if (!may('payweave.accounts.v1.LedgerService/ListTransfers')) return []
  const href = `/projects/${projectId}/ledger?${new URLSearchParams({ reference }).toString()}`
  return [['Ledger', { text: 'transfers', href }]]
}

/** The name of an account, which leads to the transfers of a project with a line on it. */
export function accountCell(projectId: string, address: LedgerAddress | undefined): Cell {
  const { holder } = address ?? {}
  const path = (parameter: string, value: string) =>
    `/projects/${projectId}/ledger?${parameter}=${value}`
  if (holder?.case === 'accountId') return code(holder.value, path('customer', holder.value))
  const word = accountWord(address)
  return { text: word, href: path('account', word.replaceAll(' ', '_')) }
}

/** The name of an account: the id of a customer’s, or its word. */
export function accountWord(address: LedgerAddress | undefined): string {
  const { holder } = address ?? {}
  if (holder?.case === 'accountId') return holder.value
  return holder?.case === 'internal' ? wordOf(InternalAccount, holder.value) : 'float'
}

const institutionTypes: ReadonlySet<string> = new Set(['p2p', 'inttransfer', 'deposit', 'cashout'])

/**
 * What a transfer was for, as a link to its page; a reversal has that of the transfer which it reverses. One that was posted after its hold
 * had expired names its movement, since it has another id.
 */
export function aboutCell({ projectId, transferId, reversesId, details }: Transfer): Cell {
  const { method = '', reference = '', metadata = {} } = details ?? {}
  const base = `/projects/${projectId}`
  const paymentId = metadata['payment_id'] ?? ''
  if (method === 'payment' && isUuid(paymentId)) {
    return { text: 'payment', href: `${base}/payments/${paymentId}` }
  }
  if (method === 'bill_payment' && billPattern.test(reference)) {
    return { text: 'bill payment', href: `${base}/bills/${reference}` }
  }
  if (institutionTypes.has(method)) {
    const lateId = metadata['movement_id'] ?? ''
    const movementId = isUuid(lateId) ? lateId : reversesId || transferId
    return { text: 'transfer', href: `${base}/transfers/${movementId}` }
  }
  return text('')
}
