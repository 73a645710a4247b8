// Checks the content of sandbox.json and sandbox.env, and who may read them.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../test/support/servers.ts'
import { prepareSandboxFile, sandboxAddresses } from './sandbox-file.ts'
import { curlExample } from './start-summary.ts'

let folder: string

beforeEach(() => {
  folder = temporaryFolder('sandbox')
})

afterEach(() => {
  fs.rmSync(folder, { recursive: true, force: true })
})

function prepare(baseUrl = 'http://127.0.0.1:8080') {
  return prepareSandboxFile(
    folder,
    sandboxAddresses(baseUrl, () => 7101, 7108),
  )
}

describe('sandbox.json', () => {
  it('sandbox.json has the documented shape', () => {
    const { projects, institutions, ...rest } = prepare()
    expect(Object.keys(rest)).toEqual([
      'base_url',
      'grpc',
      'grpc_token',
      'simulator_url',
      'production_key',
    ])
    const access = Object.entries(projects).map(([name, project]) => [name, project.account_access])
    expect(Object.fromEntries(access)).toEqual({
      demo: true,
      payments_only: false,
      other: true,
      ip_restricted: true,
    })
    const withToken = Object.entries(projects).filter(([, project]) => project.authorisation_token)
    expect(withToken.map(([name]) => name)).toEqual(['demo', 'other'])
    for (const { subscription_key } of Object.values(projects)) {
      expect(subscription_key).toMatch(/^pwk_test_[0-9A-Za-z]{23}$/)
    }
    expect(rest.production_key).toMatch(/^pwk_live_[0-9A-Za-z]{23}$/)
    expect(institutions['Demo Wallet'].permitted).toBe(true)
    expect(institutions['Restricted Bank']).toEqual({ permitted: false })
  })

  it('sandbox.json says where the simulator shows itself, not where its RPCs are', () => {
    expect(prepare().simulator_url).toBe('http://127.0.0.1:7108')
  })

  it('sandbox.json keeps its credentials and follows the addresses of a later start', () => {
    const first = prepare()
    const second = prepare('http://127.0.0.1:9000')
    expect(second).toEqual({ ...first, base_url: 'http://127.0.0.1:9000' })
  })

  it('sandbox.json is not replaced when it is damaged', () => {
    prepare()
    const file = path.join(folder, 'sandbox.json')
    fs.truncateSync(file, 100)
    expect(() => prepare()).toThrow('is damaged')
    expect(fs.statSync(file).size).toBe(100)
  })

  it('sandbox.json says the same as shell lines', () => {
    const sandbox = prepare()
    const script =
      '. "$1"; echo "$BASE_URL $PROJECTS_DEMO_API_KEY $INSTITUTIONS_DEMO_WALLET_SHARED_KEY"'
    const file = path.join(folder, 'sandbox.env')
    const said = execFileSync('/bin/sh', ['-euc', script, 'sh', file], { encoding: 'utf8' })
    const { base_url, projects, institutions } = sandbox
    expect(said.trim()).toBe(
      `${base_url} ${projects.demo.api_key} ${institutions['Demo Wallet'].shared_key}`,
    )
  })
})

describe('the request to paste', () => {
  it('the request to paste is one shell command with a date of its own and a JSON body', () => {
    const command = curlExample(prepare())
    const script = `curl() { for argument; do printf '%s\\0' "$argument"; done; }\n${command}`
    const words = execFileSync('/bin/sh', ['-euc', script], { encoding: 'utf8' }).split('\0')
    expect(words[1]).toBe('http://127.0.0.1:8080/payments/request?version=2024-10-01')
    const date = words.find((word) => word.startsWith('PW-request-date: '))
    expect(date).toMatch(/^PW-request-date: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toHaveProperty('transaction_request')
  })
})
