// Shows that a report is complete, escaped and free of secrets.
import { expect, it } from 'vitest'
import { maskedText } from '../../../clients/cli/api/masked.ts'
import { jsonReport, type Report } from './report.ts'
import { reportPage } from './report-page.ts'

const hostile = '<script>alert(1)</script>"&'
const report: Report = {
  baseUrl: 'https://api.example.com',
  startedAt: new Date('2026-11-21T03:18:56.923Z'),
  durationMs: 1_500,
  results: [
    { name: 'a/one', rule: 'One holds.', result: 'passed', durationMs: 3, exchanges: [] },
    {
      name: 'b/two',
      rule: `Two holds ${hostile}.`,
      result: 'failed',
      reason: hostile,
      durationMs: 4,
      exchanges: [{ method: 'GET', path: '/quote', status: 500, requestId: 'id-1', durationMs: 2 }],
      lastAnswer: hostile,
    },
  ],
}

it('the page shows every check and every reason as text, and loads and runs nothing', () => {
  const page = reportPage(report)
  expect(page).toContain('a/one')
  expect(page).toContain('&lt;script&gt;alert(1)')
  expect(page).toContain('GET /quote 500 id-1')
  expect(page).not.toMatch(/<script|<img|<link|\ssrc=|\shref=|url\(/i)
  expect(page).toMatch(/<html lang="en">/)
  expect(page).toContain('<title>Conformance: 1 failed</title>')
  expect(page.match(/scope="col"/g)).toHaveLength(8)
})

it('the document for programs has counts, checks and calls', () => {
  expect(JSON.parse(jsonReport(report))).toMatchObject({
    base_url: 'https://api.example.com',
    passed: 1,
    failed: 1,
    skipped: 0,
    checks: [{ name: 'a/one' }, { calls: [{ path: '/quote', request_id: 'id-1' }] }],
  })
})

it('an answer is shown without its secrets', () => {
  const answer = { data: { session: { session_token: 'pws_abc' } }, api_key: 'k', pin: 123_456 }
  const shown = maskedText(JSON.stringify(answer))
  expect(JSON.parse(shown)).toEqual({
    data: { session: { session_token: 'pws_********' } },
    api_key: '********',
    pin: '********',
  })
  expect(maskedText('<html>secret')).toBe('(12 characters)')
})
