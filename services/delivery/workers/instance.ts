// Issues lease tokens that name this instance; releases the leases of instances that have ended, and its own that it does not hold.
import { randomUUID } from 'node:crypto'
import type { Database, Session } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { leaseToken } from '../domain/lease-token.ts'
import { checkInstances, releaseInstance } from '../store/instance-store.ts'
import { type Lease, listLeases, releaseLeases } from '../store/lease-store.ts'
import { answered, startRegistration } from './registration.ts'

/** What the instance needs. */
export interface InstanceOptions {
  db: Database
  log: Logger
  /** Whether this process works on a lease: its delivery is in memory, or the statement that leases it has not returned. */
  isHeld: (lease: Lease) => boolean
  /** Called when deliveries became due because their leases were released. */
  onDue: () => void
}

/** Issues the lease tokens of claims. */
export interface LeaseOwner {
  /** Resolves when no registration is under way. A claim before that would have a lease without an owner. */
  settled(): Promise<void>
  /** A token for the leases of one claim. While the instance is not registered it names an owner that nobody else looks for. */
  issueToken(): string
  /** A statement that leases or releases failed: leases that this process has nevertheless, and does not hold, are released. */
  releaseUnheld(): void
  /** Number of instances that are alive, this one included, as of the last check. */
  instances(): number
}

/** An instance that runs. */
export interface Instance extends LeaseOwner {
  /** Ends the registration. Leases that are left are released by another instance, or by the next one. */
  close(): Promise<void>
}

const checkMs = 1_000
const reconnectMs = 250
/**
 * So many checks in a row must miss an instance before its leases are released. One that lives and has only lost its
 * connection, as all do when PostgreSQL starts again, registers within that time and its pushes go on.
 */
const checksBeforeRelease = 3
/** After this many checks that the server answered, it has ended the statement of a claim without a response. */
const checksForUnheld = 10
const rowsPerRelease = 500

/** Starts to register and to check. */
export function startInstance({ db, log, isHeld, onDue }: InstanceOptions): Instance {
  const missed = createMissedChecks()
  const unregisteredId = randomUUID()
  const unheld = createUnheldLeases({
    db,
    isHeld,
    instanceIds: () => [registration.instanceId(), unregisteredId],
  })
  let alive = 1
  const registration = startRegistration({
    db,
    log,
    onLost() {
      missed.clear()
      // When the server crashed, it has lost the last ends of attempts: their deliveries are under our leases again.
      unheld.expect()
    },
  })

  async function releaseLost(session: Session): Promise<void> {
    const { isStandby, missing, registered } = await answered(session, checkInstances(session))
    if (isStandby) return session.close()
    alive = Math.max(1, registered - missing.length)
    for (const instanceId of missed.add(missing)) {
      const count = await releaseInstance(db, instanceId, rowsPerRelease)
      if (count === 0) continue
      log.warn({ count }, 'leases of a lost instance released')
      onDue()
    }
  }

  async function check(session: Session): Promise<void> {
    try {
      const count = await unheld.release()
      if (count > 0) {
        log.warn({ count }, 'own leases without a delivery in memory released')
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
    releaseUnheld: unheld.expect,
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

/** Leases of this process that it does not hold, looked for in as many checks as a claim may be executed late. */
function createUnheldLeases({
  db,
  isHeld,
  instanceIds,
}: Pick<InstanceOptions, 'db' | 'isHeld'> & { instanceIds: () => string[] }) {
  let checksLeft = 0
  return {
    expect(): void {
      checksLeft = checksForUnheld
    },
    /** Releases those that it finds; returns how many. */
    async release(): Promise<number> {
      if (checksLeft === 0) return 0
      const leases = await listLeases(db, instanceIds())
      // What is held is looked at after the list was read: a lease that is in it and not held now is held by nobody later.
      const unheld = leases.filter((lease) => !isHeld(lease)).slice(0, rowsPerRelease)
      const released = unheld.length === 0 ? 0 : await releaseLeases(db, unheld)
      if (unheld.length < rowsPerRelease) checksLeft -= 1
      return released
    },
  }
}
