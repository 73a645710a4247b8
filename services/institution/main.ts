// Starts the institution service: its RPCs, its worker, its outbox.

import { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { AccountsService } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { MovementService } from '#gen/payweave/accounts/v1/movement_pb.js'
import { ActionAuditService } from '#gen/payweave/audit/v1/audit_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import { InstitutionService } from '#gen/payweave/institution/v1/institution_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { actionAuditService } from '#platform/actions/action-service.ts'
import { readSettings } from '#platform/config/config.ts'
import { startOutbox } from '#platform/events/outbox.ts'
import { runService } from '#platform/process/service.ts'
import { transactionSubject } from './api/events.ts'
import { transferReportService } from './api/reports.ts'
import { institutionService } from './api/transactions.ts'
import { startInstitution } from './engine.ts'
import { bringForward } from './store/work-store.ts'

// A lease outlasts every call that is made under it, one after the other.
const leaseMs = 30_000
// Less than the gateway waits.
const patienceMs = 3_500
const peerTimeoutMs = 4_000

runService(
  'institution',
  () => readSettings('institution'),
  ({ settings, metrics, db, log, peer, broker }) => {
    const accounts = peer('accounts', settings.accountsUrl)
    const quotes = peer('quotes', settings.quotesUrl)
    const backend = peer(settings.backendName, settings.backendUrl)
    const subjects = { [transactionSubject]: { consumers: {} } }
    const outbox = startOutbox({ db, nats: broker(settings), subjects, log, metrics })
    const engine = startInstitution({
      db,
      log,
      metrics,
      settings: {
        backendName: settings.backendName,
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
    return {
      routes: (router) => {
        router.service(InstitutionService, institutionService(institution))
        router.service(TransferReportService, transferReportService(institution))
        router.service(ActionAuditService, actionAuditService(db))
      },
      // Events wait in the outbox while the broker is away, so the service is ready without it.
      parts: [
        { name: 'worker', close: () => engine.close() },
        { name: 'outbox', close: () => outbox.close() },
      ],
      onClockMoved: bringForward,
    }
  },
)
