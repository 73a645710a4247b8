// Compares p2p transactions of the product with those of one program, in turns.
import { seal } from '#core/identity/seal.ts'
import { onSystem } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { transferShape } from './load/requests.ts'
import { countTransactions, preparePeople, tokenOf } from './store/transfer-store.ts'
import { type System, startMesh, startOneProcess } from './systems.ts'

/** One turn: the product and the one process, each on a database of its own. */
export type TransferTurn = { product: Measured; oneProcess: Measured; statement: undefined }

const rounds = 2
const accounts = 1_000
// More than any of the two can make in its time: a repeat is cheaper than a transaction.
const transactions = 30_000
const job = { warmUp: { answers: 2_500, maxMs: 10_000 }, measuredMs: 8_000 }

/** POST /institution/transaction in turns; about two minutes. */
export async function compareTransfers(say: (line: string) => void): Promise<TransferTurn[]> {
  const turns: TransferTurn[] = []
  const program = { program: 'transfer-process.ts', service: 'institution' } as const
  for (let round = 1; round <= rounds; round += 1) {
    const print = (name: string, { perSecond, othersShare }: Measured): void =>
      say(
        `p2p ${round}: ${name} ${perSecond.toFixed(0)}/s, others ${(othersShare * 100).toFixed(0)} %`,
      )
    const product = await onSystem(startMesh, transferLoad)
    print('product', product)
    const oneProcess = await onSystem(() => startOneProcess(program), transferLoad)
    print('one process', oneProcess)
    turns.push({ product, oneProcess, statement: undefined })
  }
  return turns
}

/** Each request has a session of its own and pays another person; every 200 must have its rows. */
async function transferLoad(system: System): Promise<Measured> {
  await preparePeople(system.databaseUrl, { accounts, transactions })
  const { key_id: keyId, shared_key } = system.sandbox.institutions['Demo Wallet']
  const key = { keyId, key: Buffer.from(shared_key, 'base64'), purpose: 'session_token' } as const
  const ids = Array.from({ length: transactions }, (_, n) =>
    bodyOf(n, seal(Buffer.from(tokenOf(n)), key)),
  )
  const measured = await measure(system, { ...job, ids, shape: transferShape(system.target, ids) })
  if (measured.accepted > transactions) throw new Error('the load ran out of sessions')
  const { completed, posted } = await countTransactions(system.databaseUrl)
  if (completed < measured.accepted || posted < measured.accepted) {
    throw new Error(
      `${measured.accepted} were acknowledged, ${completed} completed, ${posted} posted`,
    )
  }
  return measured
}

function mobileNumber(person: number): string {
  return `+1868350${String(person).padStart(4, '0')}`
}

function bodyOf(n: number, sealed: string): string {
  return JSON.stringify({
    session_token_enc: sealed,
    transaction_id: `transfer-${String(n).padStart(8, '0')}`,
    transaction_date: '2026-01-02 03:04:05',
    amount: '0.05',
    sender_currency: 'USD',
    sender_amount: '0.05',
    description: 'Lunch',
    transaction_type: 'p2p',
    fees: { total: '0.02', convenience: '0.00', sender_pays: '0.01', recipient_pays: '0.01' },
    debit_party: { mobile_number: mobileNumber(n % accounts) },
    credit_party: { mobile_number: mobileNumber((n + accounts / 2) % accounts) },
    transfer_information: { institution_name: 'Demo Wallet' },
  })
}
