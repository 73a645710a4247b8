// The yardstick of p2p transactions: one Fastify program that writes the same rows to the same tables without a mesh.
// For a fair comparison it makes the same checks as accounts and institution, and no more.
import { create } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { ResolveSessionRequestSchema } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { BeginMovementRequestSchema } from '#gen/payweave/accounts/v1/movement_pb.js'
import {
  type CreateTransactionRequest,
  CreateTransactionRequestSchema,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openDatabase } from '#platform/db/db.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { rateBetween } from '../../../connectors/simulator/domain/rate.ts'
import { refusal } from '../../../gateway/http/envelope.ts'
import { institutionTransactionRoutes } from '../../../gateway/routes/institution/transactions.ts'
import {
  accountKeyFiles,
  accountSecrets,
} from '../../../services/accounts/access/domain/credentials.ts'
import { accountsService } from '../../../services/accounts/customers/api/accounts.ts'
import { customerMetrics } from '../../../services/accounts/customers/metrics.ts'
import { movementService } from '../../../services/accounts/ledger/api/movements.ts'
import { institutionService } from '../../../services/institution/api/transactions.ts'
import { transactionMetrics } from '../../../services/institution/metrics.ts'
import type { Institution } from '../../../services/institution/operations/institution.ts'
import type { Peers } from '../../../services/institution/ports/peers.ts'
import { rowOf, serveEdge } from './yardstick-edge.ts'

const settings = readSettings('institution')
const { userLimits, sessionTtlS, challengeTtlS } = readSettings('accounts')
const log = createLogger({ part: 'one-process', level: settings.logLevel })
const db = openDatabase({ url: settings.databaseUrl, service: 'institution', log })
const accountsDb = openDatabase({ url: settings.databaseUrl, service: 'accounts', log })
const accountsDir = process.env['ACCOUNTS_SECRETS_DIR'] ?? ''
const keys = openKeys({ dir: accountsDir, names: [...accountKeyFiles, 'session.key'], log })
const noContext = undefined as never
const never = () => Promise.reject(refusal('INTERNAL_ERROR'))

const customers = accountsService({
  db: accountsDb,
  log,
  secrets: accountSecrets(keys),
  sessionKeys: keys['session.key'],
  settings: {
    backendName: settings.backendName,
    sessionTtlS,
    challengeTtlS,
    userLimits,
    allowLoopback: false,
  },
  metrics: customerMetrics(new Registry(), () => Promise.resolve([])),
  publishAccessChanged: () => Promise.resolve(),
  notify: () => undefined,
})
const movements = movementService({ db: accountsDb, userLimits })

/** The handlers of the product, called as functions. */
const peers = {
  accounts: {
    resolveSession: (request: object) =>
      customers.resolveSession(create(ResolveSessionRequestSchema, request), noContext),
  },
  movements: {
    beginMovement: (request: object) =>
      movements.beginMovement(create(BeginMovementRequestSchema, request), noContext),
    completeMovement: never,
    cancelMovement: never,
  },
} as unknown as Peers

const institution: Institution = {
  db,
  log,
  peers,
  settings: { ...settings, leaseMs: 30_000, patienceMs: 3_500 },
  rateOf: (base, quoted) => Promise.resolve(rateBetween(base, quoted)),
  metrics: transactionMetrics(new Registry(), () => Promise.resolve([])),
  notify: () => undefined,
}
const { createTransaction } = institutionService(institution)

await serveEdge(accountsDb, [
  {
    row: rowOf(institutionTransactionRoutes, '/institution/transaction'),
    async operate(asked, { projectId }) {
      const request = { ...(asked as CreateTransactionRequest), projectId }
      const made = await createTransaction(
        create(CreateTransactionRequestSchema, request),
        noContext,
      )
      const { institutionReceiptId: institution_receipt_id } = made.transaction ?? {}
      return { code: 200, message: 'Done.', fields: { institution_receipt_id } }
    },
  },
])
