// Wires the ledger: its services and its workers.
import type { ConnectRouter } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import { BalanceService } from '#gen/payweave/accounts/v1/balances_pb.js'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import type { SettingsOf } from '#platform/config/config.ts'
import { type Database, openDatabase } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { balanceService } from './api/balances.ts'
import { ledgerService } from './api/ledger.ts'
import { movementService } from './api/movements.ts'
import { ledgerMetrics } from './metrics.ts'
import { batchingLedger } from './operations/batching.ts'
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

/** A check reads whole tables, so it has its own time limits and connection. */
const checkLimitMs = 300_000

/** Starts the workers of the ledger. */
export function startLedger(options: LedgerParts): {
  routes(router: ConnectRouter): void
  close(): Promise<void>
} {
  const { db, log, registry } = options
  const { databaseUrl, databasePasswordFile, userLimits } = options.settings
  const limits = { statementMs: checkLimitMs, acquireMs: checkLimitMs }
  const checkDb = openDatabase({
    url: databaseUrl,
    passwordFile: databasePasswordFile,
    service: 'accounts',
    log,
    poolSize: 1,
    limits,
    readsWholeTables: true,
  })
  const writer = batchingLedger(db)
  const metrics = ledgerMetrics(registry, () => countPendingRollUp(db))
  const checks = startChecks(checkDb, log, metrics)
  const loops = [startHoldExpiry(db, log), startRollUp(db, log), checks]
  return {
    routes(router) {
      router.service(LedgerService, ledgerService({ db, writer, checkDb, lastCheck: checks.last }))
      router.service(MovementService, movementService({ db, userLimits }))
      router.service(BalanceService, balanceService(db))
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
      await checkDb.close()
    },
  }
}
