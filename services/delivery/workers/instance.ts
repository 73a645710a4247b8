// Issues lease tokens that name this instance, and releases the leases of instances that have ended.
import { randomUUID } from 'node:crypto'
import type { Database, Session } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { leaseToken } from '../domain/lease-token.ts'
import { checkInstances, releaseInstance } from '../store/instance-store.ts'
import { releaseClaims } from '../store/lease-store.ts'
import { answered, startRegistration } from './registration.ts'

/** What the instance needs. */
export interface InstanceOptions {
  db: Database
  log: Logger
  /** Called when deliveries became due because their leases were released. */
  onDue: () => void
}

/** Issues the lease tokens of claims. */
export interface LeaseOwner {
  /** Resolves when no registration is under way. A claim before that would have a lease without an owner. */
  settled(): Promise<void>
  /** A token for the leases of one claim. While the instance is not registered it names no owner. */
  issueToken(): string
  /** The statement with this token failed: what it may have leased nevertheless is released. */
  abandonToken(token: string): void
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
/** After this many releases that the server answered, it has ended the statement of a claim without a response. */
const releasesPerClaim = 10
/** Maximum of abandoned claims in memory. The first ones matter: later claims could not connect to a silent database. */
const maxAbandoned = 1_000
const rowsPerRelease = 500

/** Starts to register and to check. */
export function startInstance({ db, log, onDue }: InstanceOptions): Instance {
  const missed = createMissedChecks()
  const abandoned = createAbandonedClaims(db)
  let alive = 1
  const registration = startRegistration({ db, log, onLost: missed.clear })

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
      const count = await abandoned.release()
      if (count > 0) {
        log.warn({ count }, 'leases of unanswered claims released')
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
      registration.session() === undefined ? randomUUID() : leaseToken(registration.instanceId()),
    abandonToken: abandoned.add,
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

/** Claims without a response. The server may execute one later: a frozen database can outlast every time-out. */
function createAbandonedClaims(db: Database) {
  /** Releases that are left, by token. */
  const left = new Map<string, number>()
  return {
    add(token: string): void {
      if (left.size < maxAbandoned) left.set(token, releasesPerClaim)
    },
    /** Releases what they have claimed; returns how many deliveries. */
    async release(): Promise<number> {
      const tokens = [...left.keys()]
      if (tokens.length === 0) return 0
      const released = await releaseClaims(db, tokens, rowsPerRelease)
      for (const token of tokens) {
        const releases = (left.get(token) ?? 0) - 1
        if (releases > 0) left.set(token, releases)
        else left.delete(token)
      }
      return released
    },
  }
}
