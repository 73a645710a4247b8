// The yardstick of quotes: one Fastify program on the same tables that makes the same row without a mesh.
// For a fair comparison it makes the same checks as accounts and quotes, and no more.
import { Registry } from 'prom-client'
import { requireRoom } from '#core/money/limit-room.ts'
import { formatAmount } from '#core/money/money.ts'
import { formatDateTime } from '#core/text/time.ts'
import type { CreateQuoteRequest } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openDatabase } from '#platform/db/db.ts'
import { openKeys } from '#platform/process/secrets.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { rateBetween } from '../../../connectors/simulator/domain/rate.ts'
import { refusal } from '../../../gateway/http/envelope.ts'
import { accountSessionRoutes } from '../../../gateway/routes/account/sessions.ts'
import { quoteRoutes } from '../../../gateway/routes/quote/routes.ts'
import {
  accountKeyFiles,
  accountSecrets,
} from '../../../services/accounts/access/domain/credentials.ts'
import { customerMetrics } from '../../../services/accounts/customers/metrics.ts'
import {
  openSession,
  sessionResolver,
} from '../../../services/accounts/customers/operations/session.ts'
import { findingSession } from '../../../services/accounts/customers/operations/session-batching.ts'
import { quoteMetrics } from '../../../services/quotes/metrics.ts'
import { storingQuote } from '../../../services/quotes/operations/batching.ts'
import { createQuote, type Quotes } from '../../../services/quotes/operations/quotes.ts'
import type { Accounts } from '../../../services/quotes/ports/accounts.ts'
import { rateFinder } from '../../../services/quotes/ports/rates.ts'
import { rowOf, serveEdge } from './yardstick-edge.ts'

const settings = readSettings('quotes')
const { userLimits, sessionTtlS, challengeTtlS } = readSettings('accounts')
const log = createLogger({ part: 'one-process', level: settings.logLevel })
const db = openDatabase({ url: settings.databaseUrl, service: 'quotes', log })
const accountsDb = openDatabase({ url: settings.databaseUrl, service: 'accounts', log })
const accountsDir = process.env['ACCOUNTS_SECRETS_DIR'] ?? ''
const keys = openKeys({ dir: accountsDir, names: [...accountKeyFiles, 'session.key'], log })
const secrets = accountSecrets(keys)

const resolveSession = sessionResolver({ db: accountsDb, secrets }, findingSession(accountsDb))
const metrics = quoteMetrics(new Registry(), () => Promise.resolve({ open: 0, oldestS: 0 }))

const accounts: Accounts = {
  async openSession({ projectId, sessionToken, institutionName, creditParty }) {
    const token = { plain: sessionToken }
    const { state, account, room } = await resolveSession({
      projectId,
      institutionName,
      token,
      references: [],
      limits: userLimits,
    })
    if (state !== 'live') throw refusal('SESSION_INVALID')
    if (account.status !== 'available') throw refusal('ACCOUNT_UNAVAILABLE')
    return {
      accountId: account.accountId,
      institutionId: account.institutionId,
      institutionName: account.institutionName,
      targetCurrency: creditParty?.currency || account.currency,
      limitCurrency: userLimits.currency,
      room,
    }
  },
  async checkLimits(_, { room }, amountMinor) {
    if (room === undefined) throw refusal('INTERNAL_ERROR')
    requireRoom(room, amountMinor)
  },
}

const quotes: Quotes = {
  db,
  accounts,
  metrics,
  findRate: rateFinder({
    source: (base, quoted) =>
      Promise.resolve({ text: rateBetween(base, quoted), sourceTime: new Date() }),
    maxAgeS: settings.rateMaxAgeS,
    log,
    onAsked: metrics.asked,
  }),
  storeQuote: storingQuote(db, settings.quoteTtlS),
}

await serveEdge(accountsDb, [
  {
    row: rowOf(quoteRoutes, '/quote'),
    async operate(asked, { projectId }) {
      const { sessionToken, institutionName, requested, creditParty } = asked as CreateQuoteRequest
      if (requested === undefined) throw refusal('INTERNAL_ERROR')
      const quote = await createQuote(quotes, {
        projectId,
        sessionToken,
        institutionName,
        kind: 'transfer',
        requested: { amountMinor: requested.minorUnits, currency: requested.currency },
        creditParty,
      })
      const { quoteId, rate, quoted, quoteTime, expireTime } = quote
      const fields = {
        quote_id: quoteId,
        rate: rate.text,
        amount_quoted: formatAmount(quoted.amountMinor, quoted.currency),
        quote_date: formatDateTime(quoteTime),
        expire_date: formatDateTime(expireTime),
      }
      return { code: 200, message: 'Quote created successfully.', fields }
    },
  },
  // So that the load gets its session as it does from the product.
  {
    row: rowOf(accountSessionRoutes, '/account/account'),
    async operate(asked, { projectId }) {
      const { lookupValue, institutionName } = asked as Record<string, string>
      const { session } = await openSession(customersOf(), {
        projectId,
        requestId: '',
        fingerprint: Buffer.alloc(0),
        lookupType: 'MOBILE',
        lookupValue: lookupValue ?? '',
        institutionName: institutionName ?? '',
        firstName: '',
        lastName: '',
        email: '',
      })
      return { code: 200, message: 'Done.', fields: { session_token: session?.sessionToken } }
    },
  },
])

function customersOf() {
  return {
    db: accountsDb,
    log,
    secrets,
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
  }
}
