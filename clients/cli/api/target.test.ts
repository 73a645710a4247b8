// Tests which deployment a command calls when options, environment and a data folder name different ones.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { prepareSandboxFile, sandboxAddresses } from '../../../deploy/local/sandbox-file.ts'
import { runHere } from '../../../test/support/command-line.ts'
import { readTarget } from './target.ts'

const folder = fs.mkdtempSync(path.join(process.env['TEST_FOLDER'] ?? '/tmp', 'target-'))
afterAll(() => fs.rmSync(folder, { recursive: true }))
const sandboxUrl = 'http://127.0.0.1:8080'
const { projects } = prepareSandboxFile(
  folder,
  sandboxAddresses(sandboxUrl, () => 1, 2),
)
const production = {
  PAYWEAVE_BASE_URL: 'https://pay.example.com',
  PAYWEAVE_SUBSCRIPTION_KEY: 'pwk_live_0123456789abcdefghijkl',
  PAYWEAVE_API_KEY: 'key',
}

describe('the deployment that a command calls', () => {
  it('is the one of the environment when no option names a sandbox', () => {
    expect(readTarget({}, production)).toMatchObject({
      baseUrl: production.PAYWEAVE_BASE_URL,
      readOnly: true,
    })
  })

  it.each([
    ['--data-dir', { 'data-dir': folder }],
    ['--sandbox', { sandbox: path.join(folder, 'sandbox.json') }],
  ])('is the sandbox that %s names, also when the environment has other keys', (_, options) => {
    expect(readTarget(options, production)).toMatchObject({
      baseUrl: sandboxUrl,
      projects: { demo: { subscriptionKey: projects.demo.subscription_key } },
      readOnly: false,
    })
  })

  it.each([
    ['subscription-key', 'data-dir'],
    ['subscription-key', 'sandbox'],
    ['api-key', 'data-dir'],
  ])('is not named by --%s and --%s together', (key, option) => {
    const options = { [option]: folder, [key]: 'key', 'base-url': sandboxUrl }
    expect(() => readTarget(options, production)).toThrow(
      `--${key} cannot be combined with --${option}, which has its own keys`,
    )
  })
})

it('a command without a response prints why there is none', async () => {
  const keys = ['--subscription-key', 'key', '--api-key', 'key']
  const words = ['payments', 'list', '--base-url', 'http://127.0.0.1:2', ...keys]
  const { code, err } = await runHere('/nowhere', ...words)
  expect(code).toBe(1)
  expect(err).toMatch(/got no response \(ECONNREFUSED\)\. Check the address/)
})
