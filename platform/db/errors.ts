// Classifies PostgreSQL errors for the rest of the code.
import { Failure } from '#core/errors/errors.ts'

/** The SQLSTATE (five characters) of an error that the server reported; undefined for every other error. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const { code } = error
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in error
    ? code
    : undefined
}

/** Returns whether a unique constraint (this one, when named) refused the row. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23505', constraint)
}

/** Returns whether a check constraint (this one, when named) or a guard trigger refused the row. */
export function isCheckViolation(error: unknown, constraint?: string): boolean {
  return isViolation(error, '23514', constraint)
}

/**
 * Returns whether the server refused the values of a statement (SQLSTATE classes 21, 22 and 23), and so did nothing of it.
 */
export function isRefused(error: unknown): boolean {
  return refusedClasses.has(sqlState(error)?.slice(0, 2) ?? '')
}

/**
 * Returns whether a batch did nothing because of one of its items: a value has no form in its type (RangeError), the server refused it, or
 * the statement waited too long for the lock of a row.
 */
export function isOfOneItem(error: unknown): boolean {
  return error instanceof RangeError || isRefused(error) || isLockTimeout(error)
}

/** Returns whether a statement did nothing since it waited too long for the lock of a row. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof Failure && sqlState(error.cause) === '55P03'
}

/**
 * Returns whether the next statement would fail as well: the server cannot be reached, cannot work or does not answer, or no connection
 * becomes free. False for a statement that the server cancelled because it took too long.
 */
export function isDatabaseDown(error: unknown): boolean {
  if (!(error instanceof Failure)) return false
  if (error.reason === 'TIMEOUT') return sqlState(error.cause) === undefined
  return error.reason === 'SERVICE_UNAVAILABLE'
}

/** Returns whether the same work may succeed if it runs again: after a serialization failure or a deadlock. */
export function isRetriable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** Returns whether a statement did not run because an earlier one of its transaction had failed. */
export function isAborted(error: unknown): boolean {
  return sqlState(error) === '25P02'
}

/**
 * Makes (does not throw) the Failure for a transient error: TIMEOUT or SERVICE_UNAVAILABLE. Undefined for every other
 * error, such as a violated constraint, which the store interprets.
 */
export function databaseFailure(error: unknown): Failure | undefined {
  const state = sqlState(error)
  if (state === undefined) return connectionFailure(error)
  if (timeoutStates.has(state)) {
    return new Failure('TIMEOUT', 'the database took too long', { cause: error })
  }
  if (unavailableClasses.has(state.slice(0, 2)) || unavailableStates.has(state)) {
    return new Failure('SERVICE_UNAVAILABLE', 'the database is not available', { cause: error })
  }
  return undefined
}

/** Returns whether a connection must not go back to the pool after this error. */
export function breaksConnection(error: unknown): boolean {
  const state = sqlState(error)
  // A plan or a named statement that no longer fits the schema: a new connection prepares it again. A server that
  // refuses to write has been demoted: a new connection reaches the primary.
  if (state === undefined || reconnectStates.has(state)) return true
  return (error as { severity?: string }).severity !== 'ERROR'
}

/** One row where there are two, such as two values of a statement for one row; bad values; violated constraints. */
const refusedClasses = new Set(['21', '22', '23'])

const reconnectStates = new Set(['0A000', '26000', '25006'])

/** Statement cancelled, lock not available, idle in transaction. */
const timeoutStates = new Set(['57014', '55P03', '25P03'])

/** Connection exceptions, insufficient resources such as a full disk, and errors of the server's own system. */
const unavailableClasses = new Set(['08', '53', '58'])

/** Shutting down, crashed, starting, a standby that refuses to write, or a password that is being replaced. */
const unavailableStates = new Set(['57P01', '57P02', '57P03', '25006', '28P01'])

function isViolation(error: unknown, state: string, constraint: string | undefined): boolean {
  if (sqlState(error) !== state) return false
  return constraint === undefined || (error as { constraint?: string }).constraint === constraint
}

const connectionMessages =
  /^(Connection terminated|Client has encountered a connection error|Client was closed)/

function connectionFailure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.message === 'Query read timeout') {
    return new Failure('TIMEOUT', 'the database did not answer', { cause: error })
  }
  const code = 'code' in error ? String(error.code) : ''
  if (code.startsWith('E') || connectionMessages.test(error.message)) {
    return new Failure('SERVICE_UNAVAILABLE', 'the database connection was lost', { cause: error })
  }
  return undefined
}
