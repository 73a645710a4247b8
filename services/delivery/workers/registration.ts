// Keeps this instance registered by a database session, and opens the next session when one is lost; it releases nothing.
import { randomUUID } from 'node:crypto'
import type { Database, Session } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { registerInstance, unregisterInstance } from '../store/instance-store.ts'

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

/** Begins to register. `onLost` is called when a session is lost; the next attempt has begun then. */
export function startRegistration({
  db,
  log,
  onLost,
}: {
  db: Database
  log: Logger
  onLost: () => void
}): Registration {
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
      await answered(session, unregisterInstance(session, instanceId)).catch(() => undefined)
      session?.close()
    },
  }
}

/** The answer of a session's statement; the session is closed, and the statement fails, when it takes too long. */
export async function answered<T>(session: Session, answer: Promise<T>): Promise<T> {
  const timer = setTimeout(() => session.close(), answerWithinMs)
  try {
    return await answer
  } finally {
    clearTimeout(timer)
  }
}
