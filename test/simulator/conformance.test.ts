// The simulator passes the conformance kit for back ends, and the kit finds each defect that is planted before it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommandLine } from '../../clients/cli/main.ts'
import { demandCoherent } from '../../tools/conformance/backend/check.ts'
import { backendChecks } from '../../tools/conformance/backend/checks.ts'
import { defaults } from '../../tools/conformance/backend/command.ts'
import { readOutcomeMap } from '../../tools/conformance/backend/outcome-map.ts'
import { runBackendChecks } from '../../tools/conformance/backend/run.ts'
import { Unmet } from '../../tools/conformance/check.ts'
import { blocksOf } from '../docs/pages.ts'
import { serveHttp, type TestHttpServer } from '../support/http-server.ts'
import { defectsOf, inRounds } from './conformance-defects.ts'
import { pagesOrigin, startProxiedSimulator, temporaryFolder } from './conformance-harness.ts'

const mapFile = join(import.meta.dirname, '../../connectors/simulator/conformance.json')
const folder = temporaryFolder()
const secrets = join(folder.path, 'secrets')

/** The commands of docs/connectors/README.md. */
const [prepare = '', check = ''] = blocksOf('docs/connectors/README.md')
  .flatMap(({ code }) => code.split('\n'))
  .filter((line) => line.startsWith('npx payweave conformance backend'))
  .map((line) => line.replace(/ +#.*/, '').replace('npx payweave conformance backend ', ''))

/** The variables with which the page starts the simulator. */
const variables = Object.fromEntries(
  blocksOf('docs/connectors/README.md')
    .flatMap(({ code }) => [...code.matchAll(/\b([A-Z_]+)=(\S+)/g)])
    .map(([, name = '', value]) => [name, value]),
)

/** Runs the command; the words of one text stand apart by blanks. */
async function payweave(line: string) {
  let text = ''
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  const words = `conformance backend ${line}`.split(' ')
  const code = await runCommandLine(words, {
    env: {},
    stdout,
    stderr: stdout,
  })
  return { code, text }
}

let simulator: Awaited<ReturnType<typeof startProxiedSimulator>>
let openForm: TestHttpServer
beforeAll(async () => {
  await payweave(prepare.replace('--secrets secrets', `--secrets ${secrets}`))
  simulator = await startProxiedSimulator(secrets)
  openForm = await serveHttp((_request, response) => void response.end('<form></form>'))
})
afterAll(async () => {
  await simulator.stop()
  openForm.close()
  folder.remove()
})

it('there are more than forty checks, each with a name of its own and a rule in a sentence', () => {
  expect(backendChecks.length).toBeGreaterThan(40)
  expect(new Set(backendChecks.map(({ name }) => name)).size).toBe(backendChecks.length)
  for (const { name, rule } of backendChecks) {
    expect(name).toMatch(/^[a-z]+(\/[a-z0-9-]+)+$/)
    expect(rule, name).toMatch(/^[A-Z].{15,}\.$/s)
  }
})

it('a refund comes back only after it was completed, and has no second outcome otherwise', () => {
  const reports = (...outcomes: string[]) =>
    outcomes.map((outcome) => ({
      rpc: 'ReportRefund',
      id: 'a refund',
      attemptId: '',
      outcome,
      accepted: true,
    }))
  demandCoherent(reports('COMPLETED', 'COMPLETED', 'RETURNED'))
  for (const wrong of ['RETURNED', 'RETURNED COMPLETED', 'FAILED RETURNED', 'COMPLETED FAILED'])
    expect(() => demandCoherent(reports(...wrong.split(' '))), wrong).toThrow(Unmet)
})

it('the page starts the simulator where the command looks for it and takes its reports', () => {
  const at = (port: string | undefined) => `http://${defaults.host}:${port}`
  expect(variables).toMatchObject({
    RPC_TLS: 'off',
    SECRETS_DIR: `secrets/${defaults.audience}`,
    PUBLIC_BASE_URL: defaults.pages,
    CONNECTOR_PUBLIC_URL: at(variables['CONNECTOR_PUBLIC_PORT']),
    PAYMENTS_URL: at(defaults['payments-port']),
    ACCOUNTS_URL: at(defaults['accounts-port']),
    INSTITUTION_URL: at(defaults['institution-port']),
  })
  expect(check).toContain(`--url ${at(variables['PORT'])} `)
})

it('the simulator keeps every rule that its map can show, and the report says so', async () => {
  const report = join(folder.path, 'report')
  const { payments, accounts, institution } = simulator.ports
  const { code, text } = await payweave(
    check
      .replace('http://127.0.0.1:7300', simulator.url)
      .replace('--secrets secrets', `--secrets ${secrets}`)
      .replace('connectors/simulator/conformance.json', mapFile)
      .replace('--report report', `--report ${report} --at-once 16`) +
      ` --pages ${pagesOrigin} --executions ${simulator.executionsUrl}` +
      ` --payments-port ${payments} --accounts-port ${accounts} --institution-port ${institution}`,
  )
  const document = JSON.parse(readFileSync(join(report, 'conformance.json'), 'utf8'))
  const results = document.checks as { name: string; result: string; reason?: string }[]
  const named = (wanted: string) => results.filter(({ result }) => result === wanted)
  expect(named('failed'), text).toEqual([])
  // What the simulator cannot do: its wallets answer at once, its payouts and refunds always complete. It lacks nothing.
  expect(named('skipped').map(({ name }) => name)).toEqual([
    'access/unsupported',
    'wallets/processing',
    'wallets/rejected',
    'wallets/withdrawn-meanwhile',
    'payouts/failed',
    'refunds/failed',
    'refunds/returned',
  ])
  expect(code).toBe(0)
  expect(document.passed).toBe(backendChecks.length - 7)
  expect(readFileSync(join(report, 'conformance.html'), 'utf8')).toContain('0 failed')
})

it('each planted defect is found, by the check that names its rule', async () => {
  const map = readOutcomeMap(mapFile)
  const defects = defectsOf(openForm.baseUrl, simulator.alsoExecutedAs)
  expect(defects.length).toBeGreaterThanOrEqual(10)
  for (const round of inRounds(defects)) {
    simulator.plant(Object.assign({}, ...round.map(({ defect }) => defect)))
    const outcomeWithinMs = round[0]?.isSilence === true ? 2_500 : map.outcome_within_ms
    const results = await runBackendChecks(
      {
        url: simulator.proxyUrl,
        audience: 'simulator',
        secrets,
        map: { ...map, outcome_within_ms: outcomeWithinMs, settle_ms: 1_000 },
        host: '127.0.0.1',
        ports: simulator.ports,
        pagesOrigin,
        executionsUrl: simulator.executionsUrl,
        formsUrl: undefined,
      },
      backendChecks.filter(({ name }) => round.some(({ foundBy }) => foundBy === name)),
      { atOnce: round.length, signal: new AbortController().signal },
    )
    for (const { what, foundBy, says } of round) {
      const found = results.find(({ name }) => name === foundBy)
      const reason = expect.stringMatching(says)
      expect(found, what).toMatchObject({ result: 'failed', reason })
    }
  }
})

it('a map with an outcome that does not exist is refused, and nothing is sent', async () => {
  const { code, text } = await payweave(
    `--url ${simulator.url} --secrets ${secrets} --map ${join(import.meta.dirname, '../../package.json')}`,
  )
  expect(code).toBe(2)
  expect(text).toContain('package.json')
})
