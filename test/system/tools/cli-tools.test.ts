// The command line's tools against the running system: doctor, status, trigger, requests tail and the whole conformance.
import fs from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../clients/cli/main.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedMesh } from '../harness.ts'

const mesh = sharedMesh()
const { dataDir, portBase, sandbox } = mesh
const secrets = Object.values(sandbox.projects).flatMap((one) => [
  one.subscription_key,
  one.api_key,
])

type OutputRow = Record<string, unknown>

/** Runs a command as JSON and reads its lines. */
async function payweave(...words: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const texts = ['', '']
  stdout.on('data', (part) => {
    texts[0] += String(part)
  })
  stderr.on('data', (part) => {
    texts[1] += String(part)
  })
  const port = new URL(sandbox.base_url).port
  const env = { ...process.env, PORT: port, PORT_BASE: String(portBase) }
  const all = [...words, '--data-dir', dataDir, '--json']
  const code = await runCommandLine(all, { env, stdout, stderr })
  const [out = '', err = ''] = texts
  for (const secret of secrets) expect(out).not.toContain(secret)
  const lines = out.split('\n').filter((line) => line !== '')
  return { code, err, rows: lines.map((line) => JSON.parse(line) as OutputRow) }
}

describe('the tools of the command line', { concurrent: true }, () => {
  it('payweave doctor finds this machine fit, and the ports in use by this very system', async () => {
    const { code, rows } = await payweave('doctor')
    expect(rows.filter(({ result }) => result === 'failed')).toEqual([])
    expect(rows.find(({ name }) => name === 'ports')).toMatchObject({
      says: expect.stringContaining('used by the system'),
    })
    expect(code).toBe(0)
  })

  it('payweave status lists every process as ready, with its backlog', async () => {
    // A part that stalls for a moment is not ready for that moment, and it is right to say so.
    const { parts, figures } = await eventually(async () => {
      const { code, rows } = await payweave('status')
      expect(code).toBe(0)
      const [status] = rows as [{ parts: OutputRow[]; figures: OutputRow }]
      for (const part of status.parts) {
        expect(part).toMatchObject({
          up: true,
          ready: true,
          pid: mesh.pid(String(part['name'])),
          memory_bytes: expect.any(Number),
          version: expect.any(String),
        })
      }
      return status
    })
    expect(parts.map(({ name }) => name).toSorted()).toEqual(
      Object.keys(mesh.processes()).toSorted(),
    )
    expect(figures).toMatchObject({
      outbox_unconfirmed: expect.any(Number),
      deliveries_exhausted: expect.any(Number),
      bills_for_review: expect.any(Number),
      ledger_findings: 0,
    })
  })

  it.each([
    ['payment.paid', { status: 'paid' }],
    ['wallet.paid', { status: 'paid' }],
    ['account.ambiguous', { http_status: 409 }],
    ['quote.over-limits', { http_status: 403 }],
    ['bill.already-paid', { first: { failure_code: 'BILL_ALREADY_PAID' } }],
  ])(
    'payweave trigger %s shows its requests and its outcome',
    { timeout: 90_000 },
    async (outcome, facts) => {
      const { code, rows, err } = await payweave('trigger', outcome)
      expect([code, err]).toEqual([0, ''])
      expect(rows[0]).toMatchObject({ request: expect.stringMatching(/^curl -sS /) })
      expect(rows.at(-1)).toMatchObject({ outcome, facts })
    },
  )

  it('payweave requests tail shows a request by its id, with nothing of its query', async () => {
    const requestId = crypto.randomUUID()
    // Other tests of this file take longer.
    const tail = payweave('requests', 'tail', '--id', requestId, '--for', '10')
    const { subscription_key } = sandbox.projects.demo
    // Of refusals before the project is known there are samples alone.
    await fetch(`${sandbox.base_url}/payments/status?version=2024-10-01&api_key=hidden-value`, {
      headers: {
        'PW-subscription-key': subscription_key,
        'PW-origin-country': 'US',
        'PW-request-date': '2026-01-01 12:00:00',
        'PW-ip-address': '127.0.0.1',
        'PW-request-id': requestId,
      },
    })
    const { code, rows } = await tail
    expect(code).toBe(0)
    expect(rows).toEqual([
      {
        time: expect.any(String),
        request_id: requestId,
        project_id: expect.any(String),
        method: 'GET',
        route: '/payments/status',
        status: 400,
        reason: 'MISSING_PARAMETER',
        duration_ms: expect.any(Number),
      },
    ])
  })

  it('payweave conformance finds every rule of the contract kept', {
    timeout: 90_000,
  }, async () => {
    const report = path.join(dataDir, 'conformance')
    const { code, rows } = await payweave('conformance', '--report', report)
    const failed = rows.filter(({ result }) => result === 'failed')
    expect(failed.map(({ name, reason }) => [name, reason])).toEqual([])
    expect(rows.at(-1)).toMatchObject({ failed: 0, skipped: 0 })
    expect(code).toBe(0)
    const page = fs.readFileSync(path.join(report, 'conformance.html'), 'utf8')
    expect(page).toContain('<title>Conformance: passed</title>')
    for (const secret of secrets) expect(page).not.toContain(secret)
  })
})
