// Keeps this instance registered by a database session, and opens the next session when one is lost; it releases nothing.
import { randomUUID } from 'node:crypto'
import type { Database, Queryable, Session } from '../db/db.ts'
import type { Logger } from '../telemetry/log.ts'
import { registerInstance, unregisterInstance } from './instance-store.ts'

/** A registration that is kept up. */
export interface Registration {
  /** The session that holds the instance's lock; undefined while there is none. */
  session(): Session | undefined
  /** The id under which the instance is registered, or will be. */
  instanceId(): string
  /** Resolves when no attempt to register is under way. */
  settled(): Promise<void>
  /** Tries again when there is no session. Never throws. */
  retry(): Promise<void>
  /** Ends the registration and its session. When that fails, others find the session gone. */
  close(): Promise<void>
}

/** Time-out of a statement of the session. After it the session is closed and another one is opened. */
const answerWithinMs = 2_000
/** A disconnected session may hold the lock for long, so after this many refusals the instance takes another id. */
const refusalsPerId = 8

/** Dependencies of a registration. */
export interface RegistrationOptions {
  db: Database
  log: Logger
  /** Whether the instance has leases: if so, it stays known when it stops, so that they are released. */
  hasLeases: (db: Queryable, instanceId: string) => Promise<boolean>
  /** Called when a session is lost; the next attempt to register has begun then. */
  onLost: () => void
}

/** Begins to register. */
export function startRegistration({
  db,
  log,
  hasLeases,
  onLost,
}: RegistrationOptions): Registration {
  let instanceId: string = randomUUID()
  let refusals = 0
  let isDown = false
  let isClosing = false
  let session: Session | undefined
  let attempt = register()

  async function register(): Promise<void> {
    let opened: Session | undefined
    try {
      opened = await db.session()
      const isRegistered = await answered(opened, registerInstance(opened, instanceId))
      if (isRegistered && !isClosing) {
        isDown = false
        session = opened
        void renewWhenLost(opened)
        return
      }
      refusals += 1
      if (refusals % refusalsPerId === 0) instanceId = randomUUID()
    } catch (error) {
      if (!isDown) log.warn({ err: error }, 'instance not registered, trying again')
      isDown = true
    }
    opened?.close()
  }

  async function renewWhenLost(opened: Session): Promise<void> {
    await opened.closed
    session = undefined
    if (isClosing) return
    attempt = register()
    onLost()
  }

  async function unregister(from: Session): Promise<void> {
    if (!(await hasLeases(from, instanceId))) await unregisterInstance(from, instanceId)
  }

  return {
    session: () => session,
    instanceId: () => instanceId,
    settled: () => attempt,
    async retry() {
      await attempt
      if (session !== undefined || isClosing) return
      attempt = register()
      await attempt
    },
    async close() {
      isClosing = true
      await attempt
      if (session === undefined) return
      await answered(session, unregister(session)).catch(() => undefined)
      session?.close()
    },
  }
}

/**
 * The answer of a session's statement. Closes the session after 2 s without one. Rejects with the error of the statement, also
 * when the session was closed.
 */
export async function answered<T>(session: Session, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => session.close(), answerWithinMs)
  try {
    return await answer
  } finally {
    clearTimeout(timer)
  }
}
