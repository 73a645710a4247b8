// Starts the institution service: its RPCs, its worker, its outbox.
import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { readSettings } from '#platform/config/config.ts'
import { openServiceDatabase } from '#platform/db/service-database.ts'
import { natsFrom } from '#platform/events/nats/access.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { jetStreamMetric } from '#platform/events/stream-health.ts'
import { runProcess } from '#platform/process/lifecycle.ts'
import { serveService } from '#platform/process/service-ports.ts'
import { processIdentity } from '#platform/rpc/auth/process-identity.ts'
import { openPeer } from '#platform/rpc/client/client.ts'
import { createMetrics } from '#platform/telemetry/metrics.ts'
import { transactionSubject } from './api/events.ts'
import { transferReportService } from './api/reports.ts'
import { institutionService } from './api/transactions.ts'
import { startInstitution } from './engine.ts'

// A lease outlasts every call that is made under it, one after the other.
const leaseMs = 30_000
// Less than the gateway waits.
const patienceMs = 3_500
const peerTimeoutMs = 4_000

runProcess('institution', async (stopping, log) => {
  const settings = readSettings('institution')
  const metrics = createMetrics('institution')
  const identity = processIdentity('institution', settings, log)
  const db = await openServiceDatabase({ service: 'institution', settings, metrics, log, stopping })
  const nats = connectNats({ ...natsFrom(settings), name: 'institution', log })
  jetStreamMetric(metrics, nats)
  const accounts = openPeer('accounts', settings.accountsUrl, identity)
  const quotes = openPeer('quotes', settings.quotesUrl, identity)
  const backend = openPeer(settings.backendName, settings.backendUrl, identity)
  const subjects = { [transactionSubject]: { consumers: {} } }
  const outbox = startOutbox({ db, nats, subjects, log, metrics })
  const engine = startInstitution({
    db,
    log,
    metrics,
    settings: {
      enquiryScheduleS: settings.enquiryScheduleS,
      transferTtlS: settings.transferTtlS,
      leaseMs,
      patienceMs,
    },
    peers: {
      access: accounts.of(AccessService, peerTimeoutMs),
      accounts: accounts.of(AccountsService, peerTimeoutMs),
      movements: accounts.of(MovementService, peerTimeoutMs),
      quotes: quotes.of(QuotesService, peerTimeoutMs),
      transfers: backend.of(TransferService, peerTimeoutMs),
    },
    notifyOutbox: outbox.notify,
  })
  const { institution } = engine
  return await serveService({
    settings,
    metrics,
    db,
    identity,
    log,
    stopping,
    services: [InstitutionService, TransferReportService],
    routes: (router) => {
      router.service(InstitutionService, institutionService(institution))
      router.service(TransferReportService, transferReportService(institution))
    },
    // Events wait in the outbox while the broker is away, so the service is ready without it.
    parts: [
      { name: 'worker', close: () => engine.close() },
      { name: 'outbox', close: () => outbox.close() },
      accounts,
      quotes,
      backend,
      { name: 'nats', close: () => nats.close() },
    ],
  })
})
