// Compares account sessions of the product with a bare look-up, in turns.
import { randomUUID } from 'node:crypto'
import { onSystem } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { sessionShape } from './load/requests.ts'
import { median } from './report.ts'
import { countSessions } from './store/session-store.ts'
import { type System, startMesh, startOneProcess } from './systems.ts'

/** One turn: the product and the bare program, each on a database of its own. */
export type SessionTurn = { product: Measured; oneProcess: Measured; statement: undefined }

const isSmall = process.env['BENCH_SESSION_SMALL'] === '1'
const rounds = isSmall ? 1 : 2
// More than any of the two can answer in its time: a repeat of a request id opens no session.
const requestIds = 100_000
const job = isSmall
  ? { warmUp: { answers: 200, maxMs: 2_000 }, measuredMs: 2_000 }
  : { warmUp: { answers: 6_000, maxMs: 10_000 }, measuredMs: 8_000 }

/** POST /account/account_session in turns; two minutes at most. */
export async function compareSessions(say: (line: string) => void): Promise<SessionTurn[]> {
  const turns: SessionTurn[] = []
  const program = { program: 'session-process.ts', service: 'accounts' } as const
  for (let round = 1; round <= rounds; round += 1) {
    const print = (name: string, { p50Ms, othersShare }: Measured): void =>
      say(
        `session ${round}: ${name} p50 ${p50Ms.toFixed(1)} ms, others ${(othersShare * 100).toFixed(0)} %`,
      )
    const product = await onSystem(startMesh, sessionLoad)
    print('product', product)
    const oneProcess = await onSystem(() => startOneProcess(program), lookupLoad)
    print('bare look-up', oneProcess)
    turns.push({ product, oneProcess, statement: undefined })
  }
  return turns
}

/** The p50 of the product in those of the bare look-up. */
export function describeSessionTimes(turns: SessionTurn[]): string[] {
  const ratios = turns.map(({ product, oneProcess }) => product.p50Ms / oneProcess.p50Ms)
  return [
    `**p50 of a session in those of a bare look-up: median ${median(ratios).toFixed(1)}**`,
    `(${Math.min(...ratios).toFixed(1)}–${Math.max(...ratios).toFixed(1)}).`,
  ]
}

function lookupLoad(system: System): Promise<Measured> {
  const ids = Array.from({ length: requestIds }, () => randomUUID())
  return measure(system, { ...job, ids, shape: sessionShape(system.target) })
}

/** Every request has an id of its own; every 200 must have its session. */
export async function sessionLoad(system: System): Promise<Measured> {
  const measured = await lookupLoad(system)
  if (measured.accepted > requestIds) throw new Error('the load ran out of request ids')
  const stored = await countSessions(system.databaseUrl)
  if (stored < measured.accepted) {
    throw new Error(`${measured.accepted} were acknowledged, stored are ${stored}`)
  }
  return measured
}
