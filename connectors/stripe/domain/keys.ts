// Which keys of Stripe belong to which environment. Pure.

/** `test` or `live`, as it stands in every key. */
const modeOf = (key: string) => /^[a-z]+_(test|live)_/.exec(key)?.[1]

/**
 * What is wrong with the keys; undefined when nothing is. Production takes live keys only, or a test card would pay for real goods; all
 * others take test keys only, or a test would charge a real card.
 */
export function keyProblem(environment: string, keys: readonly string[]): string | undefined {
  const mode = environment === 'production' ? 'live' : 'test'
  if (keys.every((key) => modeOf(key) === mode)) return undefined
  return `STRIPE_PUBLISHABLE_KEY and the secret stripe-secret-key must be ${mode} keys where PAYWEAVE_ENV is ${environment}`
}
