// The yardstick of p2p transactions: one Fastify program on the same tables that makes the same checks and writes the same rows
// without a mesh. It must not leave out a check that accounts or institution makes, nor do more than they do.
import { create } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { ResolveSessionRequestSchema } from '#gen/accounts/v1/accounts_pb.js'
import { BeginMovementRequestSchema } from '#gen/accounts/v1/movement_pb.js'
import {
  type CreateTransactionRequest,
  CreateTransactionRequestSchema,
} from '#gen/institution/v1/institution_pb.js'
import { readSettings } from '#runtime/config.ts'
import { openDatabase } from '#runtime/db.ts'
import { createLogger } from '#runtime/log.ts'
import { openKeys } from '#runtime/secrets.ts'
import { refusal } from '../gateway/envelope.ts'
import { institutionTransactionRoutes } from '../gateway/routes/institution-transactions.ts'
import { accountKeyFiles, accountSecrets } from '../services/accounts/credentials.ts'
import { customerMetrics } from '../services/accounts/customers/metrics.ts'
import { accountsService } from '../services/accounts/customers/service.ts'
import { movementService } from '../services/accounts/ledger/service-movement.ts'
import type { Institution, Peers } from '../services/institution/institution.ts'
import { transactionMetrics } from '../services/institution/metrics.ts'
import { institutionService } from '../services/institution/service.ts'
import { rateBetween } from '../services/simulator/rate.ts'
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
    sessionTtlS,
    challengeTtlS,
    userLimits,
    allowLoopback: false,
  },
  metrics: customerMetrics(new Registry(), () => Promise.resolve([])),
  tellAccessChanged: () => Promise.resolve(),
  kick: () => undefined,
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
  kick: () => undefined,
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
