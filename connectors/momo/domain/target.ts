// Which environment of MTN belongs to which of ours. Pure.

/**
 * What is wrong with the target environment; undefined when nothing is. Production takes any but MTN's sandbox, where money that does not
 * exist would pay for real goods; all others take the sandbox only, or a test would collect real money.
 */
export function targetProblem(environment: string, target: string): string | undefined {
  const isProduction = environment === 'production'
  if (isProduction !== (target === 'sandbox')) return undefined
  return `MOMO_TARGET_ENVIRONMENT must ${isProduction ? 'not ' : ''}be sandbox where PAYWEAVE_ENV is ${environment}`
}
