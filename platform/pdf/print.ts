// Prints receipts in a thread of its own, which starts with the first one and ends when it has been idle for a while.
import type { Piscina } from 'piscina'
import { Failure } from '#core/errors/errors.ts'
import type { PrintedReceipt } from './receipt.ts'

/** Above these, requests for receipts wait longer than their readers do. */
const maxWaiting = 32
/** Of one receipt, those that are printed included: who has its link must not take the room of all others. */
const maxOfReceipt = 4
const idleMs = 60_000
/** What a receipt leaves behind is collected early: without limits the thread grew by 300 MB, with these by 80. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

let pool: Promise<Piscina> | undefined

/** How many prints of a receipt have begun and not ended, by its id. */
const begun = new Map<string, number>()

/** Prints a receipt as PDF. SERVICE_UNAVAILABLE when too many others, or too many of this receipt, wait. */
export async function printReceipt(
  receiptId: string,
  receipt: PrintedReceipt,
): Promise<Uint8Array> {
  pool ??= openPool()
  const printers = await pool
  const ofReceipt = begun.get(receiptId) ?? 0
  if (printers.queueSize >= maxWaiting || ofReceipt >= maxOfReceipt) {
    throw new Failure('SERVICE_UNAVAILABLE', 'too many receipts wait to be printed')
  }
  begun.set(receiptId, ofReceipt + 1)
  try {
    return (await printers.run(receipt, { name: 'drawReceipt' })) as Uint8Array
  } finally {
    const left = (begun.get(receiptId) ?? 1) - 1
    if (left > 0) begun.set(receiptId, left)
    else begun.delete(receiptId)
  }
}

/** Read when the first receipt is printed: a process that prints none starts sooner and is smaller. */
async function openPool(): Promise<Piscina> {
  const { Piscina: Pool } = await import('piscina')
  return new Pool({
    filename: new URL('./receipt.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: idleMs,
    execArgv: [],
    resourceLimits,
  })
}
