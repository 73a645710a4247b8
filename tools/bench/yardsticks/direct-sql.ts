// The other yardstick: pgbench running the unchanged statements of payments on the same server.
import { newId, randomId } from '#core/identity/id.ts'
import type { Queryable, Sql } from '#platform/db/db.ts'
import { creationEvent } from '../../../services/payments/api/events.ts'
import { draftPayment } from '../../../services/payments/domain/new-payment.ts'
import { insertPayment } from '../../../services/payments/store/create-store.ts'
import { readPayment } from '../../../services/payments/store/payment-store.ts'
import type { System } from '../systems.ts'
import { pgbench } from './pgbench.ts'

/** A payment that exists. */
export type PaymentKey = { projectId: string; paymentId: string }

/** pgbench takes 128 files and picks one for each transaction. */
const maxScripts = 100

/** Statements per second of the write of a payment; undefined without pgbench on this machine. */
export async function createsPerSecond(
  system: Pick<System, 'databaseUrl'>,
  seconds: number,
): Promise<number | undefined> {
  const { statement, values } = await capture(async (db) => {
    const draft = draftOfBench()
    const event = creationEvent(draft, {
      kind: 'CREATED',
      notices: [{ kind: 'payment_initiated', index: 0 }],
      callbackSequence: 0,
    })
    await insertPayment(db, { draft, event, tokenHashes: [Buffer.alloc(32)] })
  })
  // What must differ is made of the client's number and its count of transactions.
  const different = new Set(values.filter((value) => typeof value === 'string' && isId(value)))
  const fixed = new Set([values[1], values[2]])
  const script = statement.text.replaceAll(/\$(\d+)/g, (_, index: string) => {
    const value = values[Number(index) - 1]
    if (value instanceof Buffer && value.length === 32) return uniqueBytes
    if (different.has(value) && !fixed.has(value)) return uniqueUuid(Number(index))
    return value === 'bench' ? uniqueText : literal(value)
  })
  return await pgbench(system.databaseUrl, 'payments', seconds, [
    `\\set n :n + 1\n${oneLine(script)}`,
  ])
}

/** Statements per second of the read of a payment, over some that exist. */
export async function readsPerSecond(
  system: Pick<System, 'databaseUrl'>,
  seconds: number,
  payments: PaymentKey[],
): Promise<number | undefined> {
  const scripts = payments.slice(0, maxScripts).map((payment) => readScript(payment))
  return await pgbench(system.databaseUrl, 'payments', seconds, await Promise.all(scripts))
}

async function readScript({ projectId, paymentId }: PaymentKey): Promise<string> {
  const { statement, values } = await capture(async (db) => {
    await readPayment(db, projectId, paymentId)
  })
  return oneLine(
    statement.text.replaceAll(
      /\$(\d+)/g,
      (_, index: string) => `${literal(values[Number(index) - 1])}::uuid`,
    ),
  )
}

const serial = '(:client_id::bigint * 100000000 + :n::bigint)'
const uniqueText = `('bench-' || ${serial})`
const uniqueBytes = `decode(lpad(to_hex(${serial}), 64, '0'), 'hex')`

/** The first parameter is the payment's id wherever it stands, so the number keeps ids of rows apart. */
function uniqueUuid(parameter: number): string {
  return `(lpad(to_hex(${parameter}), 8, '0') || lpad(to_hex(${serial}), 24, '0'))`
}

/** Runs a store's function on a database that only notes what it is asked. */
async function capture(
  work: (db: Queryable) => Promise<void>,
): Promise<{ statement: Sql; values: unknown[] }> {
  const asked: { statement: Sql; values: unknown[] }[] = []
  const note = (statement: Sql, values: unknown[]) => void asked.push({ statement, values })
  await work({
    rows: async (statement, values) => (note(statement, values), []),
    row: async (statement, values) => (note(statement, values), undefined),
    run: async (statement, values) => (note(statement, values), 0),
  })
  const [only] = asked
  if (only === undefined || asked.length > 1) throw new Error('not exactly one statement was asked')
  return only
}

function draftOfBench() {
  const number = '+12025550108'
  return draftPayment(
    {
      projectId: newId(),
      merchantId: newId(),
      transactionId: 'bench',
      amountMinor: 12_550n,
      currency: 'USD',
      description: 'Two tickets for the evening show',
      fraudCheck: false,
      feeTerms: { paysFees: false, payerCoversPercent: 100 },
      payers: [
        {
          mobileNumber: number,
          mobileNumberE164: number,
          firstName: 'Kofi',
          lastName: 'Boateng',
          email: 'kofi@example.com',
          paymentChannel: 'payment_link',
          paymentMethod: 'wallet',
          amountMinor: 12_550n,
        },
      ],
      payees: [],
      urls: { success: '', error: '', notify: '', callback: '' },
      fingerprint: Buffer.alloc(31),
    },
    { merchantId: newId(), businessName: 'Demo Store', mobileNumber: '+12025550199' },
    {
      feeSchedule: {
        cardProcessingPercent: '2.90',
        platformProcessingPercent: '0.50',
        agentProcessingPercent: '1.00',
        conveniencePercent: '0.00',
      },
      timesToPayS: { agent: 259_200, direct_pos: 900, payment_link: 86_400 },
      linkKeyId: 'a1b2c3d4',
    },
  )
}

function isId(text: string): boolean {
  return text.length === randomId().length && /^[0-9a-f-]+$/.test(text)
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
    return `'${value}'`
  }
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'`
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  throw new Error('a value has no literal')
}

function oneLine(script: string): string {
  return script.replaceAll(/\s+/g, ' ')
}
