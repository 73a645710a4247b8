// Calls of a person in the console.
import { randomUUID } from 'node:crypto'
import { parseMembership } from '#platform/rpc/auth/roles.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'

/** Does something as a person of the staff or, with the project in the role too, of a merchant. */
export function as<T>(
  role: string,
  work: () => Promise<T>,
  { name = role, id, projectId }: { name?: string; id?: string; projectId?: string } = {},
): Promise<T> {
  const held = [parseMembership(role)].filter((one) => one !== undefined)
  const person = { id: id ?? `${name}@example.com`, memberships: held }
  const acting = { person, projectId, sessionId: randomUUID() }
  return runWithContext({ requestId: randomUUID(), traceparent: newTraceparent(), acting }, work)
}
