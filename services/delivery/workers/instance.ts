// The instance of delivery: issues lease tokens, and releases leases of instances that have ended and its own that it does not hold.
import type { Database } from '#platform/db/db.ts'
import { startInstance as startRegistered } from '#platform/instances/instance.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import {
  hasInstanceLeases,
  type Lease,
  listLeases,
  releaseInstanceLeases,
  releaseLeases,
} from '../store/lease-store.ts'

/** Dependencies of the instance. */
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
  /** Resolves when no registration is under way. A claim before that would have a lease that nobody releases early. */
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

/** After this many checks that the server answered, it has ended the statement of a claim without a response. */
const checksForUnheld = 10
const rowsPerRelease = 500

/** Starts to register and to check. */
export function startInstance({ db, log, isHeld, onDue }: InstanceOptions): Instance {
  let checksLeft = 0
  const releaseUnheld = (): void => {
    checksLeft = checksForUnheld
  }
  const registered = startRegistered({
    db,
    log,
    leases: { exist: hasInstanceLeases, release: releaseInstanceLeases },
    onDue,
    // When the server crashed, it has lost the last ends of attempts: their deliveries are under our leases again.
    onLost: releaseUnheld,
    async releaseMore() {
      if (checksLeft === 0) return 0
      const leases = await listLeases(db, registered.ids())
      // What is held is looked at after the list was read: a lease that is in it and not held now is held by nobody later.
      const unheld = leases.filter((lease) => !isHeld(lease)).slice(0, rowsPerRelease)
      const released = unheld.length === 0 ? 0 : await releaseLeases(db, unheld)
      if (unheld.length < rowsPerRelease) checksLeft -= 1
      return released
    },
  })
  return { ...registered, releaseUnheld }
}
