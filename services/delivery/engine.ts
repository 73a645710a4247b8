// Puts the parts of the delivery engine together for main.ts; it must not read the environment.
import type { Client } from '@connectrpc/connect'
import type { Registry } from 'prom-client'
import type { AccessService } from '#gen/accounts/v1/access_pb.js'
import type { SettingsOf } from '#runtime/config.ts'
import type { Database } from '#runtime/db.ts'
import type { HandleEvents } from '#runtime/events/inbox.ts'
import type { Nats } from '#runtime/events/nats.ts'
import type { Logger } from '#runtime/log.ts'
import { takeIn } from './events.ts'
import { startMaintenance } from './maintenance.ts'
import { deliveryMetrics } from './metrics.ts'
import { createPoster } from './post.ts'
import { startReplayRunner } from './replay-runner.ts'
import { startSigner } from './signing.ts'
import { createTail, type Tail } from './tail.ts'
import { startWorker } from './worker.ts'

/** What the engine needs. */
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
}

const kickAfterMs = 3

/** Starts to send what is due. */
export function startDeliveries(options: EngineOptions): {
  /** Takes events in and has their deliveries sent soon. */
  takeIn: HandleEvents
  /** Says that deliveries became due. */
  kick(): void
  /** Says that there is a new replay job. */
  kickReplays(): void
  tail: Tail
  /** Ends what is in hand. */
  close(): Promise<void>
} {
  const { db, settings, log, metrics, nats, version } = options
  const timeoutMs = settings.deliveryTimeoutS * 1_000
  const allowLoopback = settings.deliveryAllowLoopback
  const poster = createPoster({ allowLoopback, timeoutMs, version })
  const tail = createTail({ nats, log })
  const signer = startSigner({ db, nats, log, access: options.access, nowMs: options.nowMs })
  const worker = startWorker({
    db,
    poster,
    sign: signer.sign,
    log,
    metrics: deliveryMetrics({ metrics, db, log }),
    scheduleS: settings.deliveryScheduleS,
    breaker: { openS: settings.deliveryBreakerOpenS, maxS: settings.deliveryBreakerMaxS },
    timeoutMs,
    onEnded: tail.report,
  })
  const maintenance = startMaintenance({ db, log, onDue: worker.kick })
  const replays = startReplayRunner({ db, log, onDue: worker.kick })
  return {
    async takeIn(tx, events) {
      const pushes = await takeIn(tx, events)
      // The transaction commits right after this; a kick that comes too early shortens the next polls.
      if (pushes > 0) setTimeout(worker.kick, kickAfterMs)
    },
    kick: worker.kick,
    kickReplays: replays.kick,
    tail,
    async close() {
      tail.close()
      await Promise.all([maintenance.close(), replays.close()])
      await worker.close()
      signer.close()
      await poster.close()
    },
  }
}
