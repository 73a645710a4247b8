// Shows that requests are followed over a log that is cut short or replaced, and that only a request's own fields are shown.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { isWanted, readEntry } from './entry.ts'
import { followLines } from './follow.ts'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-requests-'))
const file = path.join(folder, 'gateway.log')
beforeEach(() => fs.writeFileSync(file, ''))
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

const logged = {
  level: 'info',
  time: '2026-11-21T08:30:26.329Z',
  part: 'gateway',
  requestId: 'c9c664b6-db66-4fdd-a638-4c4ef0f62a16',
  projectId: '01a1fd3a-1724-7fa5-bb8c-07504803f3aa',
  route: '/payments/status',
  method: 'GET',
  status: 404,
  reason: 'PAYMENT_NOT_FOUND',
  durationMs: 4.7,
  msg: 'request',
}

it('a request is shown by its own fields, without other fields of its line', () => {
  const line = JSON.stringify({
    ...logged,
    query: 'api_key=secret',
    headers: { 'x-key': 'secret' },
  })
  expect(readEntry(line)).toEqual({
    time: logged.time,
    request_id: logged.requestId,
    project_id: logged.projectId,
    method: 'GET',
    route: '/payments/status',
    status: 404,
    reason: 'PAYMENT_NOT_FOUND',
    duration_ms: 4.7,
  })
})

it('a sample of refusals says how many were left out', () => {
  const line = JSON.stringify({ ...logged, leftOut: 12 })
  expect(readEntry(line)).toMatchObject({ status: 404, left_out: 12 })
})

it.each(['', 'text', '{', '{"msg":"ready"}', '{"msg":"request"}', 'null'])(
  'a log line that is no request is ignored: %j',
  (line) => {
    expect(readEntry(line)).toBeUndefined()
  },
)

it.each([
  [{}, true],
  [{ id: logged.requestId, project: logged.projectId }, true],
  [{ status: '4xx', route: '/payments', method: 'get' }, true],
  [{ status: '404', reason: 'PAYMENT_NOT_FOUND' }, true],
  [{ id: 'another' }, false],
  [{ status: '5xx' }, false],
  [{ status: '400' }, false],
  [{ route: '/quote' }, false],
  [{ method: 'POST' }, false],
  [{ project: 'another' }, false],
  [{ reason: 'TIMEOUT' }, false],
])('the filter %j takes it: %s', (filter, wanted) => {
  const entry = readEntry(JSON.stringify(logged))
  expect(entry && isWanted(entry, filter)).toBe(wanted)
})

it('log lines are followed as they come, over a truncation and a new file', async () => {
  const ended = new AbortController()
  fs.writeFileSync(file, 'early\nhalf')
  const lines = followLines(file, { follow: true, signal: ended.signal })
  const next = async () => (await lines.next()).value
  expect([await next(), await next()]).toEqual(['early', undefined])
  fs.appendFileSync(file, ' done é\nmore\n')
  expect([await next(), await next()]).toEqual(['half done é', 'more'])
  fs.truncateSync(file)
  fs.appendFileSync(file, 'cut\n')
  expect(await next()).toBe('cut')
  fs.renameSync(file, `${file}.1`)
  fs.writeFileSync(file, 'a new file that is longer\n')
  expect(await next()).toBe('a new file that is longer')
  ended.abort()
  expect((await lines.next()).done).toBe(true)
})
