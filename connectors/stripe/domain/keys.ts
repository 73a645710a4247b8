// Which keys of Stripe belong to which environment and use. Pure.

/** What every key of a kind begins with. Only a publishable key may be shown to browsers. */
const patterns = {
  publishable: /^pk_(test|live)_/,
  secret: /^(?:sk|rk)_(test|live)_/,
} as const

/** The keys of an account. */
export type StripeKeys = {
  /** Rendered into every payer's card form. */
  publishable: string
  /** A restricted or a secret key. */
  secret: string
}

/**
 * What is wrong with the keys, without any part of them; undefined when nothing is. A secret key in place of the publishable one
 * would be shown to every payer. Production takes live keys only, or a test card would pay for real goods; all others take test
 * keys only, or a test would charge a real card.
 */
export function keyProblem(environment: string, keys: StripeKeys): string | undefined {
  const mode = environment === 'production' ? 'live' : 'test'
  const isRight = (kind: keyof StripeKeys) => patterns[kind].exec(keys[kind])?.[1] === mode
  if (!isRight('publishable'))
    return `STRIPE_PUBLISHABLE_KEY must begin with pk_${mode}_ where PAYWEAVE_ENV is ${environment}`
  if (!isRight('secret'))
    return `the secret stripe-secret-key must begin with rk_${mode}_ or sk_${mode}_ where PAYWEAVE_ENV is ${environment}`
  return undefined
}
