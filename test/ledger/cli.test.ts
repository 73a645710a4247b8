// Shows the commands on the ledger against services that answer in pages.
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { runHere } from '../support/command-line.ts'
import { silentLog } from '../support/database.ts'

const bearer = 'operator-credential-0123456789'
const refused = Array.from({ length: 250 }, () => ({
  settlementId: randomUUID(),
  projectId: randomUUID(),
  reason: 'no such account',
}))
let dir: string
let server: RpcServer

beforeAll(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'payweave-ledger-cli-'))
  const sha256 = createHash('sha256').update(bearer).digest('hex')
  writeIdentities(dir, ['accounts'], [{ name: 'operator', sha256, rpcs: ['*'] }])
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: openIdentity({ name: 'accounts', dir: path.join(dir, 'accounts'), log: silentLog }),
    log: silentLog,
    routes: (router) => {
      router.service(LedgerService, {
        checkLedger: () => ({ transfersChecked: 3n }),
        getLastLedgerCheck: () => ({ uncheckedRules: ['L5'] }),
      })
      router.service(SettlementPostingService, {
        restartBackfill: () => ({}),
        getBackfill: ({ pageSize, pageToken }) => {
          const start = Number(pageToken)
          const end = start + (pageSize || 100)
          return {
            backfill: { caughtUpTime: timestampFromDate(new Date()), refusedCount: 250n },
            refused: refused.slice(start, end),
            nextPageToken: end < refused.length ? String(end) : '',
          }
        },
      })
    },
  })
  const grpc = { accounts: `http://127.0.0.1:${server.port}` }
  const sandbox = { grpc, grpc_token: bearer, projects: {} }
  writeFileSync(path.join(dir, 'sandbox.json'), JSON.stringify(sandbox))
})
afterAll(async () => {
  await server.close()
  rmSync(dir, { recursive: true })
})

it.each(['check', 'backfill'])(
  'payweave ledger %s prints every refused settlement',
  async (name) => {
    const { code, out, err } = await runHere(dir, 'ledger', name)
    expect(code).toBe(1)
    const printed = out.split('\n').filter((line) => line.includes('no such account'))
    expect(printed.map((line) => line.split('  ')[1])).toEqual(
      refused.map(({ settlementId }) => settlementId),
    )
    expect(err).toContain(name === 'check' ? 'violates a rule' : 'cannot be posted')
  },
)

it('payweave ledger last-check names the rules that were not checked', async () => {
  const { code, out, err } = await runHere(dir, 'ledger', 'last-check')
  expect({ code, out, err }).toMatchObject({
    code: 1,
    out: 'no whole check so far\nL5  not checked\n',
    err: expect.stringContaining('not every rule could be checked'),
  })
})

it('payweave ledger backfill prints every refused settlement as JSON', async () => {
  const { out } = await runHere(dir, 'ledger', 'backfill', '--json')
  expect(JSON.parse(out).refused).toHaveLength(refused.length)
})
