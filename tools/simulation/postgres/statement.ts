// What the simulation reads from the statements of a process.
import type { Statement } from './server.ts'

const ownLimit = /set_config\('lock_timeout', '(\d+) ms', true\)/

const textOf = (statement: Statement): string =>
  typeof statement === 'string' ? statement : statement.text

/** The name of a statement, or the command. */
export const nameOf = (statement: Statement): string =>
  typeof statement === 'string' ? statement : statement.name

/** Whether the statement takes a lock that lasts as long as its session. */
export const takesLock = (statement: Statement): boolean =>
  /\bpg_(try_)?advisory_lock\(/.test(textOf(statement))

/** The limit that a statement sets itself for its wait for locks, in milliseconds; undefined when it sets none. */
export function ownLockMs(statement: Statement): number | undefined {
  const [, ms] = ownLimit.exec(textOf(statement)) ?? []
  return ms === undefined ? undefined : Number(ms)
}

/** The statement with a limit that the server does not know: real time decides nothing. */
export function withoutLimit(statement: Statement): Statement {
  if (typeof statement === 'string') return statement
  const text = statement.text.replace("'lock_timeout'", "'payweave.simulated_lock_timeout'")
  return { ...statement, text }
}
