// The commands on bill payments by the public API, with the keys of a merchant alone.
import type { BillReceipt, BillStatus } from '../../sdk-typescript/index.ts'
import { oneOperand } from '../access.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { kindOfState } from '../output/paint.ts'
import { printable } from '../output/print.ts'

/** `bill show`. Rejects with a UsageError as `merchantOf` throws it, and with a PayweaveError. */
export async function showBill(context: CommandContext): Promise<void> {
  const id = oneOperand(context, 'transaction id')
  printFields(context, await merchantOf(context).bills.status(id, signalOf(context)))
}

/** `bill receipt` without a bearer. Rejects as `showBill` does. */
export async function showReceipt(context: CommandContext): Promise<void> {
  const id = oneOperand(context, 'transaction id')
  printFields(context, await merchantOf(context).bills.receipt(id, signalOf(context)))
}

const shown = {
  transaction_id: 'transaction',
  normalized_status: 'status',
  amount: 'amount',
  currency: 'currency',
  biller_code: 'biller',
  product_code: 'product',
  customer_reference: 'customer',
  receipt_id: 'receipt',
  external_reference: 'external',
  client_receipt_id: 'own receipt',
  failure_code: 'failure',
  retry_category: 'retry',
} as const

function printFields(context: CommandContext, bill: BillStatus | BillReceipt): void {
  const { json, print, paint } = context
  const fields: Partial<Record<string, string | null>> = bill
  const known = Object.entries(shown).filter(([name]) => fields[name] !== undefined)
  if (json) {
    print(JSON.stringify(Object.fromEntries(known.map(([name]) => [name, fields[name]]))))
    return
  }
  for (const [name, words] of known) {
    const isState = name === 'normalized_status'
    const text = printable(fields[name] ?? (isState ? 'no outcome yet' : '-'))
    print(`${words.padEnd(12)} ${isState ? paint(kindOfState(text), text) : text}`)
  }
}
