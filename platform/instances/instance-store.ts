// Statements that register the instances of a service by the lock of a database session and find those whose session is gone. The
// service's schema has the table `instance` and the function `instance_lock`.
import { type Database, type Queryable, sql } from '../db/db.ts'

const lockStatement = sql(
  'instance_lock',
  `select pg_try_advisory_lock(instance_lock($1)) as "isHeld",
     set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
     set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false)`,
)

const registerStatement = sql(
  'instance_register',
  `insert into instance (instance_id, started_at) values ($1, clock_now())
   on conflict (instance_id) do update set lost_at = null`,
)

/**
 * Registers an instance by the session: it counts as alive until the session ends. The server notices within about ten
 * seconds when the instance's machine is gone. False when another session holds the instance's lock. Rejects as a Queryable does.
 */
export async function registerInstance(session: Queryable, instanceId: string): Promise<boolean> {
  const locked = await session.row<{ isHeld: boolean }>(lockStatement, [instanceId])
  if (locked?.isHeld !== true) return false
  await session.run(registerStatement, [instanceId])
  return true
}

const unregisterStatement = sql(
  'instance_unregister',
  'delete from instance where instance_id = $1',
)

/** Forgets an instance that stops and has no leases left. Rejects as a Queryable does. */
export async function unregisterInstance(session: Queryable, instanceId: string): Promise<void> {
  await session.run(unregisterStatement, [instanceId])
}

// A key of 64 bits is listed as two halves, with objsubid 1.
const missingStatement = sql(
  'instance_missing',
  `with locked as materialized (
     select (classid::bigint << 32) | objid::bigint as key from pg_locks
     where locktype = 'advisory' and objsubid = 1 and granted
       and database = (select oid from pg_database where datname = current_database())
   )
   select pg_is_in_recovery() as "isStandby", array(
     select instance_id::text from instance
     where instance_lock(instance_id) not in (select key from locked)
   ) as missing, (select count(*)::integer from instance) as registered`,
)

/** What a look at the instances has found. */
export interface InstanceCheck {
  /** The server takes no writes any more: its locks say nothing about the instances. */
  isStandby: boolean
  /** Ids of the instances whose session is gone. */
  missing: string[]
  /** Number of registered instances, with those. */
  registered: number
}

/** Looks which registered instances have no session. Locks nothing. Rejects as a Queryable does. */
export async function checkInstances(session: Queryable): Promise<InstanceCheck> {
  const check = await session.row<InstanceCheck>(missingStatement, [])
  return check ?? { isStandby: false, missing: [], registered: 1 }
}

const claimLockStatement = sql(
  'instance_lock_lost',
  'select pg_try_advisory_xact_lock(instance_lock($1)) as "isFree"',
)

const lostStatement = sql(
  'instance_mark_lost',
  `update instance set lost_at = coalesce(lost_at, clock_now()) where instance_id = $1`,
)

const forgetStatement = sql(
  'instance_forget',
  `delete from instance where instance_id = $1 and lost_at < clock_now() - interval '5 minutes'`,
)

/**
 * Runs `release`, which releases leases of an instance whose session is gone and resolves to how many; resolves to 0 when it has one. It
 * holds the instance's own lock meanwhile, so nothing is released of an instance that has registered again. The instance stays known for
 * five minutes: a claim that the server was still executing for it may end later. Rejects as a Database does.
 */
export function releaseInstance(
  db: Database,
  instanceId: string,
  release: (tx: Queryable) => Promise<number>,
): Promise<number> {
  return db.transaction(async (tx) => {
    const lock = await tx.row<{ isFree: boolean }>(claimLockStatement, [instanceId])
    if (lock?.isFree !== true) return 0
    const released = await release(tx)
    await tx.run(lostStatement, [instanceId])
    await tx.run(forgetStatement, [instanceId])
    return released
  })
}
