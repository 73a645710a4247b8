// Runs one NATS server with the configuration of the manifests: each user may do its work there, and no other's.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { connectNats, type Nats } from '#runtime/events/nats.ts'
import { natsProgram } from '../../deploy/local/nats-program.ts'
import { publishSurely } from '../events/world.ts'
import { silentLog } from '../support/database.ts'
import { freePorts, temporaryFolder } from '../support/servers.ts'
import { manifestsRoot } from './kustomize.ts'

const folder = temporaryFolder('nats-users')
const opened: Nats[] = []
let server: ChildProcess
let url = ''

/** The configuration of the manifests, alone and on loopback. */
function configuration(port: number): string {
  const text = fs.readFileSync(path.join(manifestsRoot, 'nats', 'nats.conf'), 'utf8')
  const changes: [RegExp, string][] = [
    [/^listen: .*$/m, `listen: "127.0.0.1:${port}"`],
    [/^http: .*$/m, ''],
    [/^pid_file: .*$/m, ''],
    [/store_dir: .*/, `store_dir: "${folder}/store"`],
    [/^cluster \{[^]*?^\}$/m, ''],
  ]
  return changes.reduce((changed, [pattern, replacement]) => {
    expect(changed).toMatch(pattern)
    return changed.replace(pattern, replacement)
  }, text)
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1)
  const users = ['gateway', 'payments', 'accounts', 'institution', 'billing', 'delivery']
  for (const user of users) fs.writeFileSync(path.join(folder, user), `password of ${user}`)
  const passwords = users.map((user) => `${user.toUpperCase()}_PASSWORD: "password of ${user}"\n`)
  fs.writeFileSync(path.join(folder, 'passwords.conf'), passwords.join(''))
  fs.copyFileSync(path.join(manifestsRoot, 'nats', 'tls.conf'), path.join(folder, 'tls.conf'))
  fs.writeFileSync(path.join(folder, 'nats.conf'), configuration(port))
  const program = await natsProgram({ fallbackDir: folder, log: () => {} })
  server = spawn(program, ['--config', path.join(folder, 'nats.conf')], {
    env: { SERVER_NAME: 'nats-0' },
    stdio: 'ignore',
  })
  url = `nats://127.0.0.1:${port}`
})

afterAll(async () => {
  await Promise.all(opened.map((nats) => nats.close()))
  server.kill('SIGKILL')
  await once(server, 'exit')
  fs.rmSync(folder, { recursive: true })
})

/** The broker as a part of that name sees it: the name is the user, the password is in a file. */
async function as(name: string): Promise<Nats> {
  const nats = connectNats({
    url,
    name,
    log: silentLog,
    access: { passwordFile: path.join(folder, name) },
  })
  opened.push(nats)
  await new Promise<void>((resolve) => nats.onConnected(resolve))
  return nats
}

it('payments publishes and delivery takes in', async () => {
  const [payments, delivery] = await Promise.all([as('payments'), as('delivery')])
  await vi.waitFor(() => payments.ensureStream(), 15_000)
  const durable = { durable: 'delivery-pw-payments-all', subject: 'pw.payments.*' }
  const batches = await delivery.openDurable(durable)
  await publishSurely(payments, 'pw.payments.event', Buffer.from('paid'), 'first')
  const [message] = (await batches.next(1)) ?? []
  expect(Buffer.from(message?.payload ?? '').toString()).toBe('paid')
  message?.ack()
  batches.stop()
})

it('accounts tells the gateway news and takes settlements in', async () => {
  const [accounts, gateway] = await Promise.all([as('accounts'), as('gateway')])
  const heard: string[] = []
  gateway.subscribe('pw.accounts.access', (payload) => {
    heard.push(Buffer.from(payload).toString())
  })
  const durable = { durable: 'accounts-pw-payments-settled', subject: 'pw.payments.settled' }
  const batches = await accounts.openDurable(durable)
  batches.stop()
  let told = 0
  // The broker may hear of the subscription later than of the news.
  await vi.waitFor(async () => {
    told += 1
    await accounts.publish('pw.accounts.access', Buffer.from('revoked'), `second ${told}`)
    expect(heard).toContain('revoked')
  }, 15_000)
})

it('nobody publishes for another, and the gateway nothing at all', async () => {
  const [institution, gateway] = await Promise.all([as('institution'), as('gateway')])
  await publishSurely(institution, 'pw.institution.transaction', Buffer.from('done'), 'third')
  await Promise.all(
    [institution, gateway].map((nats) =>
      expect(nats.publish('pw.payments.settled', Buffer.from('forged'), 'fourth')).rejects.toThrow(
        /refused/,
      ),
    ),
  )
})
