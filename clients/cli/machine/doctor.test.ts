// Shows that doctor finds what is wrong with a machine and says how to fix it.
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { clockResult, folderResults, portsResult, settingsResult } from './preflight.ts'
import { natsResult, nodeResults, packagesResult, postgresResult } from './programs.ts'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-doctor-'))
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

it('an old Node.js fails, this one is fine', () => {
  expect(nodeResults('22.1.0')[0]).toMatchObject({ result: 'failed', advice: expect.any(String) })
  expect(nodeResults()[0]).toMatchObject({ name: 'node', result: 'ok' })
})

it('a package that is missing or of another version fails and is named', () => {
  const manifest = { dependencies: { present: '1.0.0', old: '2.0.0', absent: '3.0.0' } }
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  for (const name of ['present', 'old']) {
    const own = path.join(folder, 'node_modules', name)
    fs.mkdirSync(own, { recursive: true })
    fs.writeFileSync(path.join(own, 'package.json'), '{"version":"1.0.0"}')
  }
  expect(packagesResult(folder)).toMatchObject({
    result: 'failed',
    says: 'missing or in another version: old, absent',
    advice: 'run npm ci',
  })
  expect(packagesResult()).toMatchObject({ result: 'ok' })
})

it('external stores are not checked', async () => {
  const env = { DATABASE_URL: 'postgres://db/', NATS_URL: 'nats://broker' }
  expect(postgresResult(env, folder)).toMatchObject({ result: 'ok' })
  expect(await natsResult(env, folder)).toMatchObject({ result: 'ok' })
})

it('bad settings fail with the words of the start', () => {
  const [checked, settings] = settingsResult({ PORT: 'eighty' })
  expect(checked).toMatchObject({ result: 'failed', says: expect.stringContaining('PORT') })
  expect(settings).toBeUndefined()
})

it('a port that somebody else uses fails and is named; one of our own running system does not', async () => {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  const env = { PORT: String(port), PORT_BASE: '9100', PAYWEAVE_DATA_DIR: folder }
  const [, settings] = settingsResult(env)
  if (settings === undefined) throw new Error('the settings are good')
  const others = await portsResult(settings)
  const table = { gateway: { pid: process.pid, ports: [port] } }
  fs.writeFileSync(path.join(folder, 'processes.json'), JSON.stringify(table))
  const own = await portsResult(settings)
  server.close()
  expect(others).toMatchObject({ result: 'failed', says: expect.stringContaining(`port ${port}`) })
  expect(own).toMatchObject({ result: 'ok' })
})

it('credentials that others may read are warned of', () => {
  const file = path.join(folder, 'sandbox.json')
  fs.writeFileSync(file, '{}')
  fs.chmodSync(file, 0o644)
  expect(folderResults(folder)[0]).toMatchObject({
    result: 'warning',
    advice: `chmod 600 ${file}`,
  })
  fs.chmodSync(file, 0o600)
  expect(folderResults(folder)[0]).toMatchObject({ result: 'ok' })
})

it('a clock before the checkout was made fails', () => {
  expect(clockResult(Date.UTC(2001, 0, 1))).toMatchObject({ result: 'failed' })
  expect(clockResult()).toMatchObject({ result: 'ok' })
})
