// Compares account sessions of the product with a bare program that looks up and commits, in turns.
import { randomUUID } from 'node:crypto'
import { onSystem } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { sessionShape } from './load/requests.ts'
import { countSessions } from './store/session-store.ts'
import { type System, startMesh, startOneProcess } from './systems.ts'

/** One turn: the product and the bare program, each on a database of its own. */
export type SessionTurn = { product: Measured; oneProcess: Measured; statement: undefined }

const isSmall = process.env['BENCH_SESSION_SMALL'] === '1'
// The first round, in which files are new, does not count.
const rounds = isSmall ? 2 : 5
// More than any of the two can answer in its time: a repeat of a request id opens no session.
const requestIds = 100_000
const job = isSmall
  ? { warmUp: { answers: 200, maxMs: 2_000 }, measuredMs: 2_000 }
  : { warmUp: { answers: 6_000, maxMs: 10_000 }, measuredMs: 8_000 }

/** POST /account/account_session in turns; about five minutes. */
export async function compareSessions(say: (line: string) => void): Promise<SessionTurn[]> {
  const turns: SessionTurn[] = []
  const program = { program: 'session-process.ts', service: 'accounts' } as const
  for (let round = 0; round < rounds; round += 1) {
    const print = (name: string, { perSecond, othersShare }: Measured): void =>
      say(
        `session ${round}: ${name} ${perSecond.toFixed(0)}/s, others ${(othersShare * 100).toFixed(0)} %`,
      )
    const product = await onSystem(startMesh, sessionLoad)
    print('product', product)
    const oneProcess = await onSystem(() => startOneProcess(program), sessionLoad)
    print('one process', oneProcess)
    if (round > 0) turns.push({ product, oneProcess, statement: undefined })
  }
  return turns
}

/** Every request has an id of its own; every 200 must have its session. */
export async function sessionLoad(system: System): Promise<Measured> {
  const ids = Array.from({ length: requestIds }, () => randomUUID())
  const measured = await measure(system, { ...job, ids, shape: sessionShape(system.target) })
  if (measured.accepted > requestIds) throw new Error('the load ran out of request ids')
  const stored = await countSessions(system.databaseUrl)
  if (stored < measured.accepted) {
    throw new Error(`${measured.accepted} were acknowledged, stored are ${stored}`)
  }
  return measured
}
