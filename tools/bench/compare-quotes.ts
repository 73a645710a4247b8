// Compares new quotes of the product with those of one program, in turns.
import { onSystem } from './compare.ts'
import { type Measured, measure } from './load/measure.ts'
import { edgeHeaders, quoteShape } from './load/requests.ts'
import { countQuotes } from './store/row-count-store.ts'
import { type System, startMesh, startOneProcess } from './systems.ts'

/** One turn: the product and the one process, each on a database of its own. */
export type QuoteTurn = { product: Measured; oneProcess: Measured; statement: undefined }

const rounds = 3
const job = { ids: [], warmUp: { answers: 6_000, maxMs: 10_000 }, measuredMs: 8_000 }

/** POST /quote in turns; about three and a half minutes. */
export async function compareQuotes(say: (line: string) => void): Promise<QuoteTurn[]> {
  const turns: QuoteTurn[] = []
  const program = { program: 'quote-process.ts', service: 'quotes' } as const
  for (let round = 1; round <= rounds; round += 1) {
    const print = (name: string, { perSecond, othersShare }: Measured): void =>
      say(
        `quote ${round}: ${name} ${perSecond.toFixed(0)}/s, others ${(othersShare * 100).toFixed(0)} %`,
      )
    const product = await onSystem(startMesh, quoteLoad)
    print('product', product)
    const oneProcess = await onSystem(() => startOneProcess(program), quoteLoad)
    print('one process', oneProcess)
    turns.push({ product, oneProcess, statement: undefined })
  }
  return turns
}

/** A load of new quotes on one session; every 200 must have its row. */
export async function quoteLoad(system: System): Promise<Measured> {
  const shape = quoteShape(system.target, await openSession(system))
  const measured = await measure(system, { ...job, shape })
  const stored = await countQuotes(system.databaseUrl)
  if (stored < measured.accepted) {
    throw new Error(`${measured.accepted} were acknowledged, stored are ${stored}`)
  }
  return measured
}

/** A token of the sandbox's Ama Mensah, whose limits the amount of the load is within. */
async function openSession({ target }: System): Promise<string> {
  const query = new URLSearchParams({
    version: '2024-10-01',
    mobile_number: '+12025550100',
    institution_name: 'Demo Wallet',
    first_name: 'Ama',
    last_name: 'Mensah',
  })
  const url = `http://127.0.0.1:${target.port}/account/account?${query.toString()}`
  const answer = await fetch(url, { headers: edgeHeaders(target) })
  const text = await answer.text()
  const { session_token: token } = JSON.parse(text) as { session_token?: string }
  if (token === undefined) throw new Error(`there is no session: ${text}`)
  return token
}
