// Wires the parts of the delivery engine for main.ts.
import type { Client } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import type { SettingsOf } from '#platform/config/config.ts'
import type { Database } from '#platform/db/db.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { createTail, type Tail } from './api/tail.ts'
import { deliveryMetrics } from './metrics.ts'
import { startSigner } from './operations/signing.ts'
import { createPoster, type Poster } from './ports/post.ts'
import { startInstance } from './workers/instance.ts'
import { createIntake, type TakeIn } from './workers/intake.ts'
import { startMaintenance } from './workers/maintenance.ts'
import { startReplayRunner } from './workers/replay-runner.ts'
import { startWorker } from './workers/worker.ts'

/** Dependencies of the engine. */
export interface EngineOptions {
  db: Database
  settings: Pick<
    SettingsOf<'delivery'>,
    | 'deliveryAllowLoopback'
    | 'deliveryBreakerMaxS'
    | 'deliveryBreakerOpenS'
    | 'deliveryScheduleS'
    | 'deliveryTimeoutS'
  >
  log: Logger
  metrics: Registry
  /** Knows the secrets of signed pushes. */
  access: Pick<Client<typeof AccessService>, 'getSigningSecrets'>
  /** Carries to other replicas what those who tail want to see. */
  nats: Nats
  /** Version of Payweave, shown to receivers. */
  version: string
  /** Replaces the clock by which signing secrets are forgotten. */
  nowMs?: (() => number) | undefined
  /** Replaces what makes POSTs, for the simulation. */
  poster?: Poster
}

/** Starts to send what is due. */
export function startDeliveries(options: EngineOptions): {
  /** Takes events in and has their deliveries sent. */
  takeIn: TakeIn
  /** Says that deliveries became due. */
  notify(): void
  /** Says that there is a new replay job. */
  notifyReplays(): void
  tail: Tail
  /** Drains what is in flight. */
  close(): Promise<void>
} {
  const { db, settings, log, metrics, nats, version } = options
  const timeoutMs = settings.deliveryTimeoutS * 1_000
  const allowLoopback = settings.deliveryAllowLoopback
  const { poster = createPoster({ allowLoopback, timeoutMs, version }) } = options
  const tail = createTail({ nats, log })
  const signer = startSigner({ db, nats, log, access: options.access, nowMs: options.nowMs })
  const instance = startInstance({
    db,
    log,
    isHeld: (lease) => worker.holds(lease),
    onDue: () => worker.notify(),
  })
  const worker = startWorker({
    db,
    leases: instance,
    poster,
    sign: signer.sign,
    log,
    metrics: deliveryMetrics({ metrics, db }),
    scheduleS: settings.deliveryScheduleS,
    breaker: { openS: settings.deliveryBreakerOpenS, maxS: settings.deliveryBreakerMaxS },
    timeoutMs,
    onEnded: tail.report,
  })
  const maintenance = startMaintenance({ db, log, onDue: worker.notify })
  const replays = startReplayRunner({ db, log, onDue: worker.notify })
  return {
    takeIn: createIntake(db, worker),
    notify: worker.notify,
    notifyReplays: replays.notify,
    tail,
    async close() {
      tail.close()
      await Promise.all([maintenance.close(), replays.close()])
      await worker.close()
      await instance.close()
      signer.close()
      await poster.close()
    },
  }
}
