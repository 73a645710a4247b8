// The accounts processes of a run, with the ledger of the product.
import type { ServiceImpl } from '@connectrpc/connect'
import type { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Database } from '#platform/db/db.ts'
import { ledgerService } from '../../../services/accounts/ledger/api/ledger.ts'
import { batchingLedger } from '../../../services/accounts/ledger/operations/batching.ts'
import { startHoldExpiry, startRollUp } from '../../../services/accounts/ledger/workers/workers.ts'
import type { Member } from '../faults.ts'
import { startMember } from '../member.ts'
import type { Simulation } from '../simulation.ts'

/** A process that keeps the ledger. */
export type Accounts = Member & { served(): ServiceImpl<typeof LedgerService>; db(): Database }

/** Starts an accounts process. */
export function startAccounts(simulation: Simulation, name: string): Accounts {
  let latest: Database
  const member = startMember(simulation, { name, service: 'accounts' }, ({ db, log }) => {
    latest = db
    startHoldExpiry(db, log)
    startRollUp(db, log)
    return ledgerService({
      db,
      writer: batchingLedger(db),
      checkDb: db,
    })
  })
  return Object.assign(member, { db: () => latest })
}
