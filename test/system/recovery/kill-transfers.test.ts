// Kills the institution service and the back end at every step of transfers; how many rounds is set by KILL_TRANSFER_ROUNDS.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import { type Answer, type Json, unique } from '../harness.ts'
import { cents, transferClient } from '../money/transfer-client.ts'

const rounds = Number(process.env['KILL_TRANSFER_ROUNDS'] ?? '4')
// A lease of the service, then the enquiries.
const settleMs = 180_000
/** Between two calls of an integrator whose answer was unclear. */
const againMs = 500
// A round may wait for calls that nobody answers any more, and for the start of a part.
const timeoutMs = rounds * 60_000 + 2 * settleMs
const perRound = 6
// From before the call arrives to after the transfer is reported.
const maxDelayMs = 150

// With the usual ones, which end after 17 s, the outcome is left to people when parts come up slowly.
const settings = { ENQUIRY_SCHEDULE_S: '2,5,10,10,10,10,10' }

let mesh: Mesh
let demo: ReturnType<typeof transferClient>

beforeAll(async () => {
  mesh = await startMesh({ name: 'kill-transfers', settings })
  demo = transferClient(mesh)
})
afterAll(() => mesh.remove())

type Wanted = { body: Json; end: 'completed' | 'failed'; cost: number; answer: Answer | undefined }

/** A p2p, a transfer that arrives and one that fails, in turns. */
async function wanted(index: number): Promise<Wanted> {
  const kind = index % 3
  const transfer = (account_number: string) => ({
    transaction_type: 'cashout',
    credit_party: { account_number },
  })
  const more = [{}, transfer('FAR-1'), transfer('FAR-0402')][kind]
  const transaction_id = unique('kill')
  return {
    body: await demo.order(11, 1, { ...more, transaction_id }),
    end: kind === 2 ? 'failed' : 'completed',
    cost: kind === 2 ? 0 : 100,
    answer: undefined,
  }
}

/** Sends it, again if need be, as an integrator does. */
async function send(one: Wanted): Promise<void> {
  const answer = await demo.post(one.body).catch(() => undefined)
  if (answer?.status === 200) one.answer = answer
}

async function settle(all: Wanted[]): Promise<void> {
  const open = () => all.filter((one) => one.answer === undefined)
  await eventually(async () => {
    await Promise.all(open().map(send))
    if (open().length > 0) await sleep(againMs)
    expect(open()).toEqual([])
  }, settleMs)
}

it(
  'across process kills, a transaction has one receipt, one end, and money moved accordingly',
  async () => {
    const before = cents(await demo.balance(11))
    const all: Wanted[] = []
    for (let round = 0; round < rounds; round++) {
      const batch = await Promise.all(Array.from({ length: perRound }, (_, index) => wanted(index)))
      all.push(...batch)
      const calls = batch.map(send)
      await sleep(Math.random() * maxDelayMs)
      const victim = mesh.processes()[round % 2 === 0 ? 'institution' : 'simulator']
      if (victim !== undefined) process.kill(victim.pid, 'SIGKILL')
      await Promise.all(calls)
      await mesh.ready()
    }
    await settle(all)
    for (const { body, end, answer } of all) {
      const read = await demo.becomes(body['transaction_id'], end, settleMs)
      expect(read.body['institution_receipt_id']).toBe(answer?.body['institution_receipt_id'])
      const again = await demo.post(body)
      expect(again.body['institution_receipt_id']).toBe(answer?.body['institution_receipt_id'])
    }
    const spent = all.reduce((sum, { cost }) => sum + cost, 0)
    expect(before - cents(await demo.balance(11))).toBe(spent)
    const [left] = await mesh.rows<{ open: number }>(
      `select count(*)::integer as open from institution.transaction
       where state in ('claimed', 'pending')`,
    )
    expect(left?.open).toBe(0)
  },
  timeoutMs,
)
