// Wires the ledger: its services and its workers.
import type { ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import type { SettingsOf } from '#platform/config/config.ts'
import { type Database, type DatabaseLimits, openDatabase } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { balanceService } from './api/balances.ts'
import { ledgerService } from './api/ledger.ts'
import { movementService } from './api/movements.ts'
import { ledgerMetrics } from './metrics.ts'
import { batchingLedger } from './operations/batching.ts'
import { readCheckRecords } from './store/check-result-store.ts'
import { countPendingRollUp } from './store/roll-up-store.ts'
import { startChecks } from './workers/check.ts'
import { startHoldExpiry, startRollUp } from './workers/workers.ts'

/** The dependencies of the ledger. */
export type LedgerParts = {
  db: Database
  /** The file holds the password, when the URL does not. */
  settings: Pick<SettingsOf<'accounts'>, 'databaseUrl' | 'databasePasswordFile' | 'userLimits'>
  log: Logger
  registry: Registry
}

/** A check reads whole tables, so it has its own time limits and connections: those of a call do not wait for the periodic check. */
const checkLimitMs = 300_000
const callLimitMs = 60_000

/** Starts the workers of the ledger. */
export function startLedger(options: LedgerParts): {
  routes(router: ConnectRouter): void
  close(): Promise<void>
} {
  const { db, log, registry } = options
  const { databaseUrl, databasePasswordFile, userLimits } = options.settings
  const open = (poolSize: number, limits: Partial<DatabaseLimits>) =>
    openDatabase({
      url: databaseUrl,
      passwordFile: databasePasswordFile,
      service: 'accounts',
      log,
      poolSize,
      limits,
      readsWholeTables: true,
    })
  // One connection for the lock, one for the statements.
  const periodicDb = open(2, { statementMs: checkLimitMs, acquireMs: checkLimitMs })
  const checkDb = open(1, { statementMs: callLimitMs, acquireMs: callLimitMs })
  const writer = batchingLedger(db)
  const metrics = ledgerMetrics(registry, {
    countPendingRollUp: () => countPendingRollUp(db),
    readCheckRecords: () => readCheckRecords(db),
  })
  const checks = startChecks({ db, checkDb: periodicDb, log, metrics })
  const loops = [startHoldExpiry(db, log), startRollUp(db, log), checks]
  return {
    routes(router) {
      router.service(LedgerService, ledgerService({ db, writer, checkDb }))
      router.service(MovementService, movementService({ db, userLimits }))
      router.service(BalanceService, balanceService(db))
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
      await Promise.all([periodicDb.close(), checkDb.close()])
    },
  }
}
