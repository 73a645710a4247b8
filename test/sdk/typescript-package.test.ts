// Packs the TypeScript SDK as for publishing and uses the package as a shop does, in an empty folder with the Node.js of this machine.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, isGuide, pages } from '../docs/pages.ts'
import { serveHttp } from '../support/http-server.ts'
import { nodes } from '../support/nodes.ts'
import { temporaryFolder } from '../support/servers.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = temporaryFolder('sdk-package')
const packageDir = join(folder, 'node_modules', '@payweave', 'sdk')
const run = promisify(execFile)

const body = `
async function main() {
  const payweave = createPayweave({
    baseUrl: process.argv[2],
    subscriptionKey: 'k'.repeat(32),
    apiKey: 'a',
    originCountry: 'US',
    ipAddress: '127.0.0.1',
  })
  const error = await payweave.payments.status('one').catch((thrown) => thrown)
  const known = error instanceof PayweaveError
  console.log(JSON.stringify({ known, reason: error.reason, fix: error.howToFix }))
}
main()
`
const names = '{ createPayweave, PayweaveError }'
const programs = {
  'program.mjs': `import ${names} from '@payweave/sdk'\n${body}`,
  'program.cjs': `const ${names} = require('@payweave/sdk')\n${body}`,
}

const typed = `
import { createPayweave, PayweaveError, type PaymentSummary } from '@payweave/sdk'

const payweave = createPayweave({
  baseUrl: 'https://api.example.com',
  subscriptionKey: '',
  apiKey: '',
  originCountry: 'US',
  ipAddress: '203.0.113.7',
})
const paid: PaymentSummary[] = await payweave.payments.list({ status: 'paid' }).take(5)
console.log(paid.length)
for await (const { amount } of payweave.payments.list()) console.log(amount.padStart(10))
try {
  await payweave.bills.receipt('one', { timeoutMs: 500 })
} catch (error) {
  if (error instanceof PayweaveError && error.reason === 'RECEIPT_NOT_AVAILABLE') throw error
}
const payer = { mobile_number: '+12025550101', payment_channel: 'payment_link', payment_method: 'wallet' } as const
await payweave.payments.create({ id: 'one', amount: '25.00', currency: 'USD', payers: [payer] })
// @ts-expect-error money is text, never a number
await payweave.payments.create({ id: 'one', amount: 25, currency: 'USD', payers: [payer] })
// @ts-expect-error the key that makes a repeat safe is required
await payweave.bills.pay({ biller_code: 'A', product_code: 'B', amount: '1.00', currency: 'USD', customer_reference: '1' })
`

beforeAll(() => {
  // An npm that runs these tests passes the settings of this tree on, by which no script of a package runs.
  const pack = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder]
  const cwd = join(root, 'clients', 'sdk-typescript')
  const packed = execFileSync('npm', pack, { cwd, encoding: 'utf8' })
  const [{ filename = '' } = {}] = JSON.parse(packed.slice(packed.indexOf('['))) as Array<{
    filename?: string
  }>
  writeFileSync(join(folder, 'package.json'), '{ "name": "shop", "private": true }')
  execFileSync('npm', ['install', '--offline', '--no-audit', filename], { cwd: folder })
  for (const [file, text] of Object.entries(programs)) writeFileSync(join(folder, file), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('the package of the TypeScript SDK', () => {
  const cases = [...nodes].flatMap((node) => Object.keys(programs).map((file) => [file, node]))

  it.each(cases)('the package works in %s under %s', async (file = '', node = '') => {
    const server = await serveHttp((_, answer) => {
      answer.writeHead(404, { 'content-type': 'application/json' })
      answer.end('{"status":"error","code":404,"errorCode":"PAYMENT_NOT_FOUND","message":"no"}')
    })
    const { stdout } = await run(node, [file, server.baseUrl], { cwd: folder })
    server.close()
    expect(JSON.parse(stdout)).toEqual({
      known: true,
      reason: 'PAYMENT_NOT_FOUND',
      fix: expect.stringContaining('Check the id.'),
    })
  })

  /** What the compiler finds in programs, which it reads as strictly as it can unless `words` say otherwise. */
  function expectNoErrors(files: Record<string, string>, words: string[] = []) {
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
    const types = join(folder, 'node_modules', '@types')
    rmSync(types, { force: true })
    symlinkSync(join(root, 'node_modules', '@types'), types)
    const strict = '--noEmit --strict --module nodenext --target es2022 --types node'.split(' ')
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const all = [...strict, ...words, ...Object.keys(files)]
    const { status, stdout } = spawnSync(tsc, all, { cwd: folder })
    expect(String(stdout)).toBe('')
    expect(status).toBe(0)
  }

  it('the package has types for strict callers of either kind of module', () => {
    // A module of CommonJS has no top-level await.
    const [imports = '', rest = ''] = typed.split('\n\n')
    const wrapped = `${imports}\nasync function main() {\n${rest}\n}\nvoid main`
    expectNoErrors({ 'typed.mts': typed, 'typed.cts': wrapped })
  })

  it('the samples of the guides have no errors of types', () => {
    const programs = pages()
      .filter(isGuide)
      .map((page) => {
        const name = page === 'docs/guides/set-up.md' ? 'client' : basename(page, '.md')
        const blocks = blocksOf(page).filter(({ language }) => language === 'ts')
        return [`${name}.mts`, blocks.map(({ code }) => code).join('\n')] as const
      })
      .filter(([, code]) => code !== '')
    expect(programs.length).toBeGreaterThan(10)
    // They are JavaScript too, whose parameters have no types.
    expectNoErrors(Object.fromEntries(programs), ['--noImplicitAny', 'false'])
  })

  it('the package holds code and declarations, needs no other package, and has its version in each request', () => {
    const files = readdirSync(packageDir, { recursive: true, encoding: 'utf8' })
    const odd = files.filter((file) => !/^dist($|\/)|^package\.json$|^README\.md$/.test(file))
    expect(odd).toEqual([])
    expect(files).toContain('README.md')
    expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([])
    const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as {
      version: string
      dependencies?: object
    }
    expect(manifest.dependencies).toBe(undefined)
    const code = readFileSync(join(packageDir, 'dist', 'esm', 'payweave.js'), 'utf8')
    expect(code).toContain(`payweave-sdk-typescript/${manifest.version}`)
  })
})
