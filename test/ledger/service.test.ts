// Shows over RPC, on a real database, that the ledger's services answer their messages and keep projects apart.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Client, Code } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId, randomId } from '#core/identity/id.ts'
import { HoldState, InternalAccount, LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import {
  createRpcClient,
  createRpcPool,
  type RpcPool,
  withProject,
} from '#platform/rpc/client/client.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { ledgerService } from '../../services/accounts/ledger/api/ledger.ts'
import { movementService } from '../../services/accounts/ledger/api/movements.ts'
import { batchingLedger } from '../../services/accounts/ledger/operations/batching.ts'
import { listAccountPostings } from '../../services/accounts/ledger/operations/ledger.ts'
import { silentLog } from '../support/database.ts'
import {
  type Harness,
  newAccount,
  newSession,
  newShop,
  type Shop,
  startHarness,
  userLimits,
} from './harness.ts'

const dir = mkdtempSync(join(tmpdir(), 'payweave-ledger-'))
const pools: RpcPool[] = []
let harness: Harness
let server: RpcServer
let ledger: Client<typeof LedgerService>
let movements: Client<typeof MovementService>
let stranger: Client<typeof LedgerService>
let shop: Shop
let accountId: string

beforeAll(async () => {
  writeIdentities(dir, ['accounts', 'billing', 'institution', 'payments'])
  harness = await startHarness()
  const { db } = harness
  const identityOf = (name: string) => openIdentity({ name, dir: join(dir, name), log: silentLog })
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) => {
      router.service(LedgerService, ledgerService({ db, writer: batchingLedger(db), checkDb: db }))
      router.service(MovementService, movementService({ db, userLimits }))
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const way = (name: string) => {
    const pool = createRpcPool(url)
    pools.push(pool)
    return { url, audience: 'accounts', identity: identityOf(name), pool }
  }
  ledger = createRpcClient(LedgerService, way('billing'))
  stranger = createRpcClient(LedgerService, way('payments'))
  movements = createRpcClient(MovementService, way('institution'))
})
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
  await server.close()
  await harness.close()
  rmSync(dir, { recursive: true })
})
beforeEach(async () => {
  shop = await newShop(harness.db)
  accountId = await newAccount(harness.db, shop, { amountMinor: 50_000n })
})

const customer = (id: string) => ({ holder: { case: 'accountId' as const, value: id } })
const clearing = { holder: { case: 'internal' as const, value: InternalAccount.CLEARING } }
const money = (minorUnits: bigint) => ({ currency: 'TTD', minorUnits })
const inAnHour = () => timestampFromDate(new Date(Date.now() + 3_600_000))

function pay(minorUnits: bigint, id = accountId) {
  return [
    { address: customer(id), amount: money(-minorUnits), feeMinorUnits: 1n },
    { address: clearing, amount: money(minorUnits) },
  ]
}

describe('the ledger over RPC', () => {
  it('the ledger over RPC posts, reads and takes back a transfer', async () => {
    const { projectId } = shop
    // A character outside the first 65,536 is one character, although UTF-16 takes two units for it.
    const description = '💧'.repeat(1_000)
    const details = { reference: 'T-1', description, method: 'bill', metadata: { a: 'b' } }
    const transferId = newId()
    const asked = { projectId, transferId, postings: pay(1_000n), details }
    const { transfer } = await ledger.postTransfer(asked)
    expect(transfer).toMatchObject({ transferId, projectId, details, reversesId: '' })
    expect(transfer?.postings[0]).toMatchObject({ address: customer(accountId), feeMinorUnits: 1n })
    expect((await ledger.postTransfer(asked)).transfer).toEqual(transfer)
    const reversal = { projectId, transferId: newId(), reversesId: transferId, description: 'no' }
    const { transfer: back } = await ledger.reverseTransfer(reversal)
    expect(back).toMatchObject({ reversesId: transferId, details: { description: 'no' } })
    const { transfer: taken } = await ledger.getTransfer({ projectId, transferId })
    expect(taken?.reversedById).toBe(reversal.transferId)
    const read = { projectId, address: customer(accountId), currency: 'TTD' }
    expect((await ledger.getLedgerBalance(read)).available?.minorUnits).toBe(50_000n)
  })

  it('the ledger over RPC places, posts and voids a hold', async () => {
    const { projectId } = shop
    const [holdId, other] = [newId(), newId()]
    const details = { reference: 'H-1', description: 'Water', method: 'bill', metadata: { a: 'b' } }
    const asked = { projectId, address: customer(accountId), amount: money(2_000n), details }
    const made = await ledger.createHold({ ...asked, holdId, expireTime: inAnHour() })
    expect(made.hold).toMatchObject({ holdId, state: HoldState.OPEN, amount: money(2_000n) })
    expect((await ledger.getHold({ projectId, holdId })).hold).toEqual(made.hold)
    await ledger.createHold({ ...asked, holdId: other, expireTime: inAnHour() })
    const read = { projectId, address: customer(accountId), currency: 'TTD' }
    expect(await ledger.getLedgerBalance(read)).toMatchObject({
      posted: money(50_000n),
      held: money(4_000n),
      available: money(46_000n),
    })
    const { transfer } = await ledger.postHold({ projectId, holdId, postings: pay(1_500n) })
    expect(transfer).toMatchObject({ transferId: holdId, details })
    expect((await ledger.getTransfer({ projectId, transferId: holdId })).transfer).toEqual(transfer)
    const voided = await ledger.voidHold({ projectId, holdId: other })
    expect(voided.hold?.state).toBe(HoldState.VOIDED)
    expect((await ledger.getHold({ projectId, holdId })).hold?.state).toBe(HoldState.POSTED)
    expect((await ledger.checkLedger({})).findings).toEqual([])
  })

  it.each([
    ['no postings', { postings: [] }],
    [
      'no address',
      {
        postings: [{ amount: money(1n) }, { address: clearing, amount: money(-1n) }],
        reason: 'MISSING_PARAMETER',
      },
    ],
    ['an unknown internal account', { internal: 99 }],
    ['a transfer_id that is no UUID', { transferId: 'T-1' }],
    ['control characters', { details: { reference: '\u0000' } }],
    ['lines that do not sum to zero', { extra: 1n }],
  ])(
    'the ledger over RPC refuses %s',
    async (_, { reason = 'INVALID_PARAMETER', postings, extra = 0n, ...bad }: BadTransfer) => {
      const { projectId } = shop
      const { transferId, details, internal } = bad
      const lines = [
        { address: customer(accountId), amount: money(-5n) },
        {
          address: internal === undefined ? clearing : wrongInternal(internal),
          amount: money(5n + extra),
        },
      ]
      const call = ledger.postTransfer({
        projectId,
        transferId: transferId ?? newId(),
        postings: postings ?? lines,
        ...(details === undefined ? {} : { details }),
      })
      await expect(call).rejects.toMatchObject({ reason })
    },
  )

  it('the ledger over RPC keeps projects apart', async () => {
    const { projectId } = shop
    const other = await newShop(harness.db)
    const only = withProject(other.projectId)
    const [transferId, holdId] = [newId(), newId()]
    await ledger.postTransfer({ projectId, transferId, postings: pay(100n) })
    const hold = { address: customer(accountId), amount: money(1n), expireTime: inAnHour() }
    await ledger.createHold({ projectId, holdId, ...hold })
    const asOther = { projectId: other.projectId }
    const unknown = [
      ledger.getTransfer({ ...asOther, transferId }),
      ledger.reverseTransfer({ ...asOther, transferId: newId(), reversesId: transferId }),
      ledger.getHold({ ...asOther, holdId }),
      ledger.voidHold({ ...asOther, holdId }),
      ledger.postHold({ ...asOther, holdId, postings: pay(1n) }),
      ledger.postTransfer({ ...asOther, transferId: newId(), postings: pay(1n) }),
      ledger.createHold({ ...asOther, holdId: newId(), ...hold }),
      ledger.getLedgerBalance({ ...asOther, address: customer(accountId), currency: 'TTD' }),
    ]
    const answers = await Promise.allSettled(unknown)
    const refused = answers.filter((answer) => answer.status === 'rejected')
    expect(refused).toHaveLength(unknown.length)
    for (const { reason } of refused) {
      expect(reason).toMatchObject({ reason: expect.stringMatching(/_NOT_FOUND$/) })
    }
    const float = { holder: { case: 'floatProjectId' as const, value: projectId } }
    const readFloat = ledger.getLedgerBalance({ ...asOther, address: float, currency: 'TTD' })
    await expect(readFloat).rejects.toMatchObject({ reason: 'LEDGER_ACCOUNT_NOT_FOUND' })
    const denied = { cause: { code: Code.PermissionDenied } }
    const asked = { projectId, transferId }
    await expect(ledger.getTransfer(asked, only)).rejects.toMatchObject(denied)
    await expect(stranger.getTransfer(asked)).rejects.toMatchObject(denied)
  })
})

type BadTransfer = {
  reason?: string
  postings?: Parameters<typeof ledger.postTransfer>[0]['postings']
  transferId?: string
  details?: { reference: string }
  internal?: number
  extra?: bigint
}

function wrongInternal(value: number) {
  return { holder: { case: 'internal' as const, value: value as InternalAccount } }
}

describe('movements over RPC', () => {
  it('movements over RPC begin, complete, are cancelled and check limits', async () => {
    const { projectId, institutionId } = shop
    const sessionTokenHash = await newSession(harness.db, shop, accountId)
    const [movementId, never] = [newId(), newId()]
    const limitUse = { accountId, amount: money(2_000n) }
    const hold = { accountId, amount: money(2_000n), feeMinorUnits: 50n, expireTime: inAnHour() }
    const asked = { projectId, movementId, sessionTokenHash, institutionId, limitUse, hold }
    expect(await movements.beginMovement(asked)).toMatchObject({ repeatedCall: false })
    // As a process of the previous release repeats it: without fees.
    const later = {
      ...hold,
      feeMinorUnits: 0n,
      expireTime: timestampFromDate(new Date(Date.now() + 7_200_000)),
    }
    expect(await movements.beginMovement({ ...asked, hold: later })).toMatchObject({
      repeatedCall: true,
    })
    const window = { accountId, startUs: 0n, endUs: undefined, limit: 1 }
    const { postings } = await listAccountPostings(harness.db, window)
    expect(postings).toMatchObject([{ transferId: movementId, feeMinor: 50n, cleared: false }])
    await movements.completeMovement({ projectId, movementId, postings: pay(2_000n) })
    await movements.cancelMovement({ projectId, movementId: never })
    const late = movements.beginMovement({ ...asked, movementId: never })
    await expect(late).rejects.toMatchObject({ reason: 'HOLD_CLOSED' })
    const spent = movements.beginMovement({ ...asked, movementId: newId() })
    await expect(spent).rejects.toMatchObject({ reason: 'SESSION_INVALID' })
    const full = await newAccount(harness.db, shop, { amountMinor: 2n ** 63n - 2n })
    const crediting = async (minorUnits: bigint) => ({
      projectId,
      movementId: newId(),
      institutionId,
      sessionTokenHash: await newSession(harness.db, shop, full),
      credit: { accountId: full, amount: money(minorUnits) },
    })
    await expect(movements.beginMovement(await crediting(2n))).rejects.toMatchObject({
      reason: 'AMOUNT_OUT_OF_RANGE',
    })
    await movements.beginMovement(await crediting(1n))
    await movements.checkLimits({ projectId, limitUse })
    const most = movements.checkLimits({
      projectId,
      limitUse: { accountId, amount: money(50_001n) },
    })
    await expect(most).rejects.toMatchObject({
      reason: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('User limits are exceeded'),
    })
    const nobody = movements.checkLimits({
      projectId,
      limitUse: { accountId: randomId(), amount: money(1n) },
    })
    await expect(nobody).rejects.toMatchObject({ reason: 'LEDGER_ACCOUNT_NOT_FOUND' })
  })
})
