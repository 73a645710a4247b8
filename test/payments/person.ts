// Calls of a person of the staff in the console.
import { randomUUID } from 'node:crypto'
import { parseMembership } from '#platform/rpc/auth/roles.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'

/** Does something as a person of the staff. */
export function as<T>(role: string, work: () => Promise<T>): Promise<T> {
  const held = [parseMembership(role)].filter((one) => one !== undefined)
  const person = { id: `${role}@example.com`, memberships: held }
  const acting = { person, projectId: undefined, sessionId: randomUUID() }
  return runWithContext({ requestId: randomUUID(), traceparent: newTraceparent(), acting }, work)
}
