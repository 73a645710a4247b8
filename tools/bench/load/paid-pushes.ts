// Payments whose payers pay by themselves, at a fixed rate, and the pushes that arrive for them.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Agent, request } from 'undici'
import type { System } from '../systems.ts'
import { createBody, edgeHeaders } from './requests.ts'

const arriveWithinMs = 30_000
/** The sandbox's payer who pays a second after the announcement, and the one who never does. */
const paysByThemselves = '+12025550101'
const neverPays = '+12025550108'

/** Creates payments on schedule, also while earlier ones are in flight; by transaction id, when each was answered. */
export async function atRate(
  perS: number,
  seconds: number,
  create: () => Promise<string>,
): Promise<Map<string, number>> {
  const answered = new Map<string, number>()
  const beganMs = performance.now()
  const creations: Promise<void>[] = []
  for (let count = 0; count < seconds * perS; count += 1) {
    const earlyMs = beganMs + (count * 1_000) / perS - performance.now()
    if (earlyMs > 0) await sleep(earlyMs)
    creations.push(create().then((id) => void answered.set(id, performance.now())))
  }
  await Promise.all(creations)
  return answered
}

/** Returns a function that creates a payment and resolves to its transaction id; the payer pays a second later. */
export function paymentCreator({ target }: System, receiver: string, agent: Agent) {
  const url = `http://127.0.0.1:${target.port}/payments/request?version=2024-10-01`
  const headers = { ...edgeHeaders(target), 'content-type': 'application/json' }
  const run = performance.now().toString(36)
  let created = 0
  return async (): Promise<string> => {
    created += 1
    const id = `latency-${run}-${created}`
    const body = createBody(target, id, `${receiver}/pushes`).replace(neverPays, paysByThemselves)
    const answer = await request(url, { method: 'POST', headers, body, dispatcher: agent })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text.slice(0, 300)}`)
    return id
  }
}

/** Resolves when the first push of all has arrived; throws when one does not within 30 s. */
export async function untilAll(
  answered: ReadonlyMap<string, number>,
  pushed: ReadonlyMap<string, number>,
): Promise<void> {
  const deadlineMs = performance.now() + arriveWithinMs
  while ([...answered.keys()].some((id) => !pushed.has(id))) {
    if (performance.now() > deadlineMs) throw new Error('pushes did not arrive within 30 s')
    await sleep(50)
  }
}

/** Accepts every push, and names the transaction of each first notify. */
export async function startReceiver(onPush: (transactionId: string) => void) {
  const server = http.createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as { transaction_id?: string }
      // Callbacks have no such field; they come later than the first notify.
      if (body.transaction_id !== undefined) onPush(body.transaction_id)
      outgoing.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
