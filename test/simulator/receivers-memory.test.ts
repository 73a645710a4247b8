// Measures what readers of a large receivers' log cost the simulator's process in memory.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { insertReceived } from '../../connectors/simulator/store/receiver-store.ts'
import { eventually } from '../support/eventually.ts'
import { startStandIns } from './harness.ts'
import { type SimulatorProcess, simulatorProcess } from './process.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const bodyBytes = 256 * 1024
const bodies = 128
const readers = 8

let standIns: Awaited<ReturnType<typeof startStandIns>>
let simulator: SimulatorProcess
let pid: number
const tag = randomUUID()
beforeAll(async () => {
  standIns = await startStandIns()
  const db = standIns.database.open({})
  const body = Buffer.alloc(bodyBytes, '{"event": "paid"} ')
  for (let count = 0; count < bodies; count += 1) {
    const request = { path: `/receivers/ok/${tag}`, headers: {}, body }
    await insertReceived(db, randomUUID(), tag, request)
  }
  await db.close()
  simulator = simulatorProcess(standIns)
  // As in a pod.
  const { child } = simulator.run({
    MALLOC_ARENA_MAX: '2',
    NODE_OPTIONS: '--max-semi-space-size=16',
  })
  await once(child, 'message')
  pid = child.pid ?? 0
  // What a first request costs is there before.
  await readLog(randomUUID())
})
afterAll(async () => {
  await simulator.end('SIGKILL')
  await standIns.remove()
})

/** Of the process, in MiB: what it holds now, or the most that it held since `forgetPeak`. */
function memoryMb(which: 'VmRSS' | 'VmHWM'): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024
}

function forgetPeak(): void {
  fs.writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/** Reads the log of a tag to its end and returns its bytes. */
async function readLog(ofTag = tag): Promise<number> {
  const answer = await fetch(`${standIns.publicUrl}/receivers/log?tag=${ofTag}`)
  let bytes = 0
  for await (const chunk of answer.body ?? []) bytes += chunk.length
  return bytes
}

it(`${readers} readers of ${(bodies * bodyBytes) / 1024 ** 2} MiB at once cost less than 200 MiB`, async () => {
  forgetPeak()
  const before = memoryMb('VmRSS')
  const read = await Promise.all(Array.from({ length: readers }, () => readLog()))
  const growth = memoryMb('VmHWM') - before
  for (const bytes of read) expect(bytes).toBeGreaterThan(bodies * bodyBytes)
  expect(growth, `${growth} MiB`).toBeLessThan(200)
})

/** A reader that takes nothing after the beginning of the answer, whose status it returns. */
async function stall(): Promise<{ socket: net.Socket; status: number }> {
  const socket = net.connect({ port: standIns.publicPort, host: '127.0.0.1' })
  socket.write(`GET /receivers/log?tag=${tag} HTTP/1.1\r\nhost: simulator\r\n\r\n`)
  await once(socket, 'readable')
  return { socket, status: Number(String(socket.read()).split(' ', 2)[1]) }
}

it(`a reader of a large log beyond ${readers} is answered 503; small logs are shown all the same`, async () => {
  const stalled = await Promise.all(Array.from({ length: readers }, stall))
  expect(new Set(stalled.map(({ status }) => status))).toEqual(new Set([200]))
  const refused = await stall()
  expect(refused.status).toBe(503)
  expect(await readLog(randomUUID())).toBeGreaterThan(0)
  for (const { socket } of stalled) socket.destroy()
  await eventually(async () => expect(await readLog()).toBeGreaterThan(bodies * bodyBytes))
})
