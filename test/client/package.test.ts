// Packs the client as for publishing and uses the package as a team does, in an empty folder with the Node.js of this machine.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PaymentsService } from '#gen/payweave/payments/v1/payments_pb.js'
import { nodes } from '../support/nodes.ts'
import { temporaryFolder } from '../support/servers.ts'
import { serve, token } from './harness.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = temporaryFolder('client-package')
const packageDir = join(folder, 'node_modules', '@payweave', 'client')
const run = promisify(execFile)
const dependencies = ['@bufbuild/protobuf', '@grpc/grpc-js']

const program = `
import { createPayweaveClient, PayweaveError } from '@payweave/client'
import { PaymentState } from '@payweave/client/gen/payweave/payments/v1/payments_pb.js'

const [address, token] = process.argv.slice(2)
const client = createPayweaveClient({ address: { payments: address, accounts: address }, token })
const { payment } = await client.payments.getPayment({ paymentId: 'one' })
const error = await client.ledger.getTransfer({}).catch((thrown) => thrown)
client.close()
console.log(JSON.stringify({
  id: payment?.paymentId,
  paid: payment?.state === PaymentState.PAID,
  refused: error instanceof PayweaveError && error.status,
}))
`

const typed = `
import { createPayweaveClient } from '@payweave/client'
import type { Payment } from '@payweave/client/gen/payweave/payments/v1/payments_pb.js'

const client = createPayweaveClient({ address: 'dns:///payments:7101', tokenFile: '/run/token' })
const { payment } = await client.payments.getPayment({ paymentId: 'one' }, { timeoutMs: 500 })
export const known: Payment | undefined = payment
for await (const { event } of client.deliveries.tailDeliveries({})) console.log(event.case)
// @ts-expect-error there is no such field
await client.payments.getPayment({ payment: 'one' })
`

function unpack(): void {
  // Of the folder itself, as the command line of npm does it. An npm that runs these tests passes the settings of this tree on,
  // by which no script of a package runs.
  const words = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder]
  const packed = execFileSync('npm', words, {
    cwd: join(root, 'clients', 'grpc'),
    encoding: 'utf8',
  })
  const [{ filename = '' } = {}] = JSON.parse(packed.slice(packed.indexOf('['))) as Array<{
    filename?: string
  }>
  mkdirSync(packageDir, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', packageDir, '--strip-components=1'])
  for (const name of dependencies) {
    const link = join(folder, 'node_modules', ...name.split('/'))
    mkdirSync(join(link, '..'), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
}

beforeAll(unpack)
afterAll(() => rmSync(folder, { recursive: true }))

function readJson(...place: string[]): Record<string, unknown> {
  return JSON.parse(readFileSync(join(...place), 'utf8')) as Record<string, unknown>
}

describe('the package', () => {
  it.each([...nodes])('the package imports and calls under %s', async (node) => {
    const { url } = await serve((router) =>
      router.service(PaymentsService, {
        getPayment: ({ paymentId }) => ({ payment: { paymentId, state: 3 } }),
      }),
    )
    writeFileSync(join(folder, 'program.mjs'), program)
    const { stdout } = await run(node, ['program.mjs', url, token], { cwd: folder })
    expect(JSON.parse(stdout)).toEqual({ id: 'one', paid: true, refused: 'UNIMPLEMENTED' })
  })

  it('the package has types for strict callers', () => {
    writeFileSync(join(folder, 'typed.mts'), typed)
    const strict = '--noEmit --strict --module nodenext --target es2022 --types node'.split(' ')
    symlinkSync(join(root, 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const { status, stdout } = spawnSync(tsc, [...strict, 'typed.mts'], { cwd: folder })
    expect(String(stdout)).toBe('')
    expect(status).toBe(0)
  })

  it('the package holds code, declarations and contracts, and nothing else', () => {
    const files = readdirSync(packageDir, { recursive: true, encoding: 'utf8' })
    const odd = files.filter((file) => !/^dist($|\/)|^package\.json$|^README\.md$/.test(file))
    expect(odd).toEqual([])
    expect(files).toContain('README.md')
    expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([])
  })

  it('the package requires the versions of its dependencies that are tested here', () => {
    const { dependencies: wanted } = readJson(packageDir, 'package.json')
    const { dependencies: own, devDependencies } = readJson(root, 'package.json') as Record<
      string,
      Record<string, string>
    >
    const tested = { ...own, ...devDependencies }
    expect(wanted).toEqual(
      Object.fromEntries(dependencies.map((name) => [name, `^${tested[name]}`])),
    )
  })
})
