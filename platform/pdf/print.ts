// Prints receipts in a thread of its own, which starts with the first one and ends when it has been idle for a while.
import type { Piscina } from 'piscina'
import { Failure } from '#core/errors/errors.ts'
import type { PrintedReceipt } from './receipt.ts'

/** Above these, requests for receipts wait longer than their readers do. */
const maxWaiting = 32
const idleMs = 60_000
/** What a receipt leaves behind is collected early: without limits the thread grew by 300 MB, with these by 80. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

let pool: Promise<Piscina> | undefined

/** Prints a receipt as PDF. SERVICE_UNAVAILABLE when too many others wait. */
export async function printReceipt(receipt: PrintedReceipt): Promise<Uint8Array> {
  pool ??= openPool()
  const printers = await pool
  if (printers.queueSize >= maxWaiting) {
    throw new Failure('SERVICE_UNAVAILABLE', 'too many receipts wait to be printed')
  }
  return (await printers.run(receipt, { name: 'drawReceipt' })) as Uint8Array
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
