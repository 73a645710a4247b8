// Issues lease tokens that name this instance of a service, and has the leases of instances that have ended released.
import { randomUUID } from 'node:crypto'
import type { Database, Queryable, Session } from '../db/db.ts'
import { startLoop } from '../process/loop.ts'
import type { Logger } from '../telemetry/log.ts'
import { checkInstances, releaseInstance } from './instance-store.ts'
import { leaseToken } from './lease-token.ts'
import { answered, startRegistration } from './registration.ts'

/** Dependencies of an instance. */
export interface InstanceOptions {
  db: Database
  log: Logger
  leases: InstanceLeases
  /** Called when work became due because leases were released. */
  onDue: () => void
  /** Called when the session is lost: the server has ended, or does not respond. */
  onLost?: () => void
  /** Releases more, before each check; resolves to how many leases. */
  releaseMore?: () => Promise<number>
}

/** The leases of a service, by the tokens that their instance has issued. */
export interface InstanceLeases {
  /** Whether the instance has any. */
  exist(db: Queryable, instanceId: string): Promise<boolean>
  /** Releases up to `limit` leases of an instance that has ended; resolves to how many. */
  release(tx: Queryable, instanceId: string, limit: number): Promise<number>
}

/** An instance that runs. */
export interface Instance {
  /** Resolves when no registration is under way. A claim before that would have a lease that nobody releases early. */
  settled(): Promise<void>
  /** A token for the leases of one claim. While the instance is not registered it names an owner that nobody else looks for. */
  issueToken(): string
  /** Ids by which tokens of this instance are found. */
  ids(): string[]
  /** Number of instances that are alive, this one included, as of the last check. */
  instances(): number
  /** Ends the registration. Leases that are left are released by another instance, or by the next one. Never rejects. */
  close(): Promise<void>
}

const checkMs = 1_000
const reconnectMs = 250
/**
 * So many checks in a row must miss an instance before its leases are released. One that lives and has only lost its
 * connection, as all do when PostgreSQL starts again, registers within that time and its work goes on.
 */
const checksBeforeRelease = 3
const leasesPerRelease = 500

/** Starts to register and to check. The database need not be up. */
export function startInstance(options: InstanceOptions): Instance {
  const { db, log, leases, onDue, onLost, releaseMore } = options
  const missed = createMissedChecks()
  const unregisteredId = randomUUID()
  let alive = 1
  const registration = startRegistration({
    db,
    log,
    hasLeases: leases.exist,
    onLost() {
      missed.clear()
      onLost?.()
    },
  })

  async function releaseLost(session: Session): Promise<void> {
    const { isStandby, missing, registered } = await answered(session, checkInstances(session))
    if (isStandby) return session.close()
    alive = Math.max(1, registered - missing.length)
    for (const instanceId of missed.add(missing)) {
      const count = await releaseInstance(db, instanceId, (tx) =>
        leases.release(tx, instanceId, leasesPerRelease),
      )
      if (count === 0) continue
      log.warn({ count }, 'leases of a lost instance released')
      onDue()
    }
  }

  async function check(session: Session): Promise<void> {
    try {
      const count = (await releaseMore?.()) ?? 0
      if (count > 0) {
        log.warn({ count }, 'own leases without work in memory released')
        onDue()
      }
      await releaseLost(session)
    } catch (error) {
      missed.clear()
      log.warn({ err: error }, 'instances not checked')
    }
  }

  const loop = startLoop({
    kind: 'instances',
    log,
    pauseMs: checkMs,
    gatherMs: () => 0,
    async round() {
      await registration.retry()
      const session = registration.session()
      if (session !== undefined) await check(session)
      return registration.session() === undefined ? reconnectMs : false
    },
  })
  return {
    settled: registration.settled,
    issueToken: () =>
      leaseToken(registration.session() === undefined ? unregisteredId : registration.instanceId()),
    ids: () => [registration.instanceId(), unregisteredId],
    instances: () => alive,
    async close() {
      await loop.close()
      await registration.close()
    },
  }
}

/** Counts for each instance the consecutive checks that did not find it. */
function createMissedChecks() {
  let counts = new Map<string, number>()
  return {
    /** Adds the result of a check; returns the instances that count as dead. */
    add(missing: string[]): string[] {
      counts = new Map(missing.map((id) => [id, (counts.get(id) ?? 0) + 1]))
      return missing.filter((id) => (counts.get(id) ?? 0) >= checksBeforeRelease)
    },
    clear(): void {
      counts = new Map()
    },
  }
}
