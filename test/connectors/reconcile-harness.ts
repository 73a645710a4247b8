// The command `reconcile` on planted movements and settlements, for this folder's tests.
import { randomUUID } from 'node:crypto'
import type { Database } from '#platform/db/db.ts'
import type { Movement, Settled } from '../../connectors/kit/domain/reconcile.ts'
import { reconcileCommand } from '../../connectors/kit/reconcile-command.ts'

export const day = '2026-11-25'
export const noon = new Date(`${day}T12:00:00Z`)
export const money = { currency: 'EUR', amountMinor: 1250n }

/** A movement of the provider, at noon of the day unless it is changed. */
export const moved = (reference: string, changed: Partial<Movement> = {}): Movement => ({
  reference,
  ...money,
  time: noon,
  ...changed,
})

/** A receipt of Payweave, or what it is changed to. */
export const receipt = (attemptId: string, changed: Partial<Settled> = {}): Settled => ({
  settlementId: randomUUID(),
  kind: 'PAYER_RECEIPT',
  attemptId,
  payeeId: '',
  reversesId: '',
  ...moved(attemptId),
  ...changed,
})

export type Plan = {
  /** Undefined: the connector's own records. */
  movements: Movement[] | undefined
  settled: Settled[]
  /** Refunds that came back at the provider. */
  returned?: Movement[]
  words?: string[]
  nowMs?: number
}

/** Runs the command about the day, or about another, once the day's settlements are complete. Both sides return what was asked for. */
export async function runReconcile(
  db: Database,
  {
    movements,
    settled,
    returned = [],
    words = [day],
    nowMs = Date.parse('2026-11-26T00:02:00Z'),
  }: Plan,
) {
  const text: string[] = []
  const within = <T extends { time: Date }>(rows: T[], from: Date, to: Date) =>
    rows.filter(({ time }) => time >= from && time < to)
  const read = async (from: Date, to: Date) => ({
    movements: within(movements ?? [], from, to),
    returned: within(returned, from, to),
    foreign: 2,
  })
  const code = await reconcileCommand(
    {
      db,
      report: movements === undefined ? undefined : { source: 'a test', read },
      settlements: {
        written: async (from, to) => within(settled, from, to),
        ofReferences: async (references) =>
          settled.filter(({ settlementId, payeeId, reversesId }) =>
            [settlementId, payeeId, reversesId].some((id) => references.includes(id)),
          ),
      },
      print: (line) => void text.push(line),
      nowMs: () => nowMs,
    },
    words,
  )
  return { code, text: text.join('') }
}

/** The lines about differences. */
export function differencesIn(text: string): string[] {
  return text.split('\n').filter((line) => line.includes('_') || line.includes('repeated'))
}
