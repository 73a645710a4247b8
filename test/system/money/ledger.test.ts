// Shows that what payments moved is in the ledger of the running system, and how operators look after it.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { merchant, order, payer, receiver, sharedMesh } from '../harness.ts'
import { internalTeam } from '../tools/grpc.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const team = internalTeam(mesh)
const root = path.resolve(import.meta.dirname, '../../..')
let projectId: string

beforeAll(async () => {
  projectId = await team.projectId(mesh.sandbox.projects.demo.subscription_key)
})
afterAll(() => team.close())

/** What a payment has put into each account of ours; zeros are left out. */
async function movedBy(paymentId: string): Promise<Record<string, number>> {
  const rows = await mesh.rows<{ internal: string; sum: string }>(
    `select p.internal, sum(p.amount_minor) from accounts.posting p
     join accounts.transfer t using (project_id, transfer_id)
     where t.metadata ->> 'payment_id' = $1 group by 1 having sum(p.amount_minor) <> 0`,
    [paymentId],
  )
  return Object.fromEntries(rows.map(({ internal, sum }) => [internal, Number(sum)]))
}

function payweave(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['clients/cli/payweave.mjs', ...words, '--data-dir', mesh.dataDir],
      { cwd: root },
      (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })
}

it('a payment of two payers is held until it is paid out, and a refund leaves nothing held', async () => {
  const inbox = receiver(mesh)
  const payers = [payer(1, { amount: '70.00' }), payer(1, { amount: '30.00' })]
  const { id } = await shop.create(order({ payers, urls: inbox.urls }))
  await shop.stateIs(id, 'paid')
  await inbox.awaitNotifies(['payout_completed'])
  await eventually(
    () => movedBy(id),
    (moved) => expect(moved).toEqual({ clearing: -50, fee_income: 50 }),
  )
  await team.refund(projectId, id)
  await eventually(
    () => movedBy(id),
    (moved) => expect(moved).toEqual({ clearing: 9_950, merchant_receivable: -9_950 }),
  )
})

it('operators read settlements back and check the ledger by command', async () => {
  const backfill = await payweave('ledger', 'backfill')
  expect(backfill).toMatchObject({ code: 0, err: '' })
  expect(backfill.out).toMatch(/^checked \d+ {2}posted 0 {2}refused 0$/m)
  const check = await payweave('ledger', 'check')
  expect(check).toMatchObject({ code: 0, err: '' })
  expect(check.out).toMatch(/^checked \d+ transfers {2}found 0$/m)
})
