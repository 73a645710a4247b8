// Serves payweave.clock.v1.ClockService: the test clock of a sandbox, which shifts the business times of a service.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { ClockService } from '#gen/payweave/clock/v1/clock_pb.js'
import type { Database, Queryable } from '#platform/db/db.ts'
import { ConfigurationError } from '#platform/process/configuration-error.ts'
import { moveBusinessClock, readBusinessClock } from './clock-store.ts'

/** What the test clock of a service needs. */
export type ClockOptions = {
  db: Database
  /** SANDBOX_CLOCK. */
  isMovable: boolean
  /**
   * Brings forward the rows whose time to be worked on is real time, although it follows from a schedule of business; in the
   * transaction of the move.
   */
  onMoved?: ((tx: Queryable, movedMs: number) => Promise<void>) | undefined
}

/**
 * Checks that a database without a test clock has the right time. Rejects with a ConfigurationError when its business time was
 * moved, as in a restored copy of a sandbox: deadlines would pass early. Rejects as a Queryable does.
 */
export async function checkClock({ db, isMovable }: ClockOptions): Promise<void> {
  if (isMovable) return
  const { aheadMs } = await readBusinessClock(db)
  if (aheadMs !== 0) {
    throw new ConfigurationError(
      `the business time of this database is ${aheadMs} ms ahead: it belongs to a sandbox whose test clock was moved; SANDBOX_CLOCK is not set`,
    )
  }
}

/** The handler of ClockService. Its methods refuse with PERMISSION_DENIED unless the clock is movable, and reject as a Queryable does. */
export function clockService({
  db,
  isMovable,
  onMoved,
}: ClockOptions): ServiceImpl<typeof ClockService> {
  function requireMovable(): void {
    if (!isMovable) throw new Failure('PERMISSION_DENIED', 'there is no test clock here')
  }

  async function clock() {
    const { businessTime, aheadMs } = await readBusinessClock(db)
    return {
      clock: { businessTime: timestampFromDate(businessTime), aheadMs: BigInt(aheadMs) },
    }
  }

  return {
    getClock() {
      requireMovable()
      return clock()
    },
    async advanceClock({ aheadMs }) {
      requireMovable()
      await db.transaction(async (tx) => {
        const movedMs = await moveBusinessClock(tx, aheadMs)
        if (movedMs > 0) await onMoved?.(tx, movedMs)
      })
      // In a transaction of its own: the plans of the one that moved may be those from before.
      return clock()
    },
  }
}
