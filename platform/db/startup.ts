// The settings that a connection to PostgreSQL starts with.

/** Time limits in milliseconds; the defaults are those of production. */
export type DatabaseLimits = {
  statementMs: number
  lockMs: number
  idleInTransactionMs: number
  acquireMs: number
}

/*
 * Each statement of a service reads a few rows by key. It is planned once on a connection, not for each set of values
 * (a large one takes longer to plan than to run), and the plan lives on while its tables grow: one that was
 * made when they were empty must go by key already.
 */
const planningByKey = {
  plan_cache_mode: 'force_generic_plan',
  // A plan that cannot avoid a disabled join costs 1e10 more, and PostgreSQL would compile every plan above 1e5.
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

/**
 * Settings that the server applies before the first statement, so that a new connection costs no round trip. Throws an
 * Error for a bad service name.
 */
export function startupOptions(
  options: { service: string | undefined; readsWholeTables?: boolean },
  limits: DatabaseLimits,
): string {
  const { service, readsWholeTables = service === undefined } = options
  const settings: Record<string, string | number> = {
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    synchronous_commit: 'on',
    default_transaction_isolation: 'read\\ committed',
    timezone: 'UTC',
    ...(readsWholeTables ? {} : planningByKey),
  }
  if (service !== undefined) {
    if (!/^[a-z][a-z_]{0,40}$/.test(service)) throw new Error(`bad service name ${service}`)
    settings['role'] = `payweave_${service}`
    settings['search_path'] = service
  }
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
}
