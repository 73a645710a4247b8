// Runs the simulator as a process of its own: where it refuses to start, and what a kill leaves.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { AttemptOutcome } from '#gen/payweave/backend/v1/charges_pb.js'
import { eventually } from '../support/eventually.ts'
import { newCharge, startStandIns } from './harness.ts'
import { type SimulatorProcess, simulatorProcess } from './process.ts'

vi.setConfig({ testTimeout: 60_000 })

let standIns: Awaited<ReturnType<typeof startStandIns>>
let process: SimulatorProcess
beforeAll(async () => {
  standIns = await startStandIns()
  process = simulatorProcess(standIns)
})
afterAll(async () => {
  await process.end('SIGKILL')
  await standIns.remove()
})

it.each([
  [{ PAYWEAVE_ENV: 'production' }, 'PAYWEAVE_ENV must not be production'],
  [{ PAYWEAVE_ENV: 'sandbox', CONNECTOR_PUBLIC_URL: '' }, 'CONNECTOR_PUBLIC_URL must be set'],
])('the simulator refuses to start with %j', async (env, reason) => {
  const started = process.run(env)
  const [code] = (await once(started.child, 'exit')) as [number]
  expect(code).toBe(1)
  expect(started.output()).toContain(reason)
  for (const url of [standIns.url, standIns.publicUrl]) {
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  }
})

it('a kill loses no charge, attempt, report or received request; no PIN or card is logged', async () => {
  const { charges, payments, publicUrl, adminPort } = standIns
  const first = process.run({})
  await once(first.child, 'message')
  await payments.stop()

  const [kofi, ama] = [newCharge({ number: '+12025550101' }), newCharge()]
  const [unknownId, walletId] = [randomUUID(), randomUUID()]
  await charges.announceCharges({ charges: [kofi, ama] })
  await charges.getAttempt({ attemptId: unknownId })
  const wallet = { chargeId: ama.chargeId, attemptId: walletId, pin: '123456' }
  expect((await charges.payWithWallet(wallet)).outcome).toBe(AttemptOutcome.PAID)
  await fetch(`${publicUrl}/receivers/flaky/kept`, { method: 'POST', body: 'body' })
  await process.end('SIGKILL')

  const second = process.run({})
  await once(second.child, 'message')
  expect((await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status).toBe(200)
  expect((await charges.payWithWallet({ ...wallet, pin: '000002' })).outcome).toBe(
    AttemptOutcome.PAID,
  )
  const refused = { chargeId: kofi.chargeId, attemptId: unknownId, pin: '123456' }
  expect((await charges.payWithWallet(refused)).outcome).toBe(AttemptOutcome.REFUSED)
  expect(await (await fetch(`${publicUrl}/receivers/log?tag=kept`)).json()).toMatchObject({
    requests: [{ path: '/receivers/flaky/kept', body: 'body' }],
  })

  await payments.start()
  const outcomes = () => payments.of(kofi.chargeId).map(({ outcome }) => outcome)
  await eventually(() => expect(outcomes()).toEqual(['PROCESSING', 'PAID']))
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  expect(metrics).toContain('payweave_simulator_reports_waiting')

  await process.end('SIGTERM')
  expect(second.child.exitCode).toBe(0)
  const output = first.output() + second.output()
  expect(output).toContain('ready')
  expect(output).not.toMatch(/123456|000002|2025550101/)
})
