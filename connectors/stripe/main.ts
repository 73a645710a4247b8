// Starts the connector of Stripe. No business logic here.
import { join } from 'node:path'
import { SettingsError } from '#platform/config/config.ts'
import { runConnector } from '../kit/process.ts'
import { stripeConnector } from './connector.ts'
import { keyProblem } from './domain/keys.ts'
import { stripeAt } from './ports/stripe.ts'

runConnector(
  ({ payweaveEnv, secret, secrets, variable, url, publicUrl, checkoutOrigin }) => {
    const secretKey = secret('stripe-secret-key')
    const publishableKey = variable('STRIPE_PUBLISHABLE_KEY')
    const problem = keyProblem(payweaveEnv, {
      publishable: publishableKey,
      secret: secretKey,
    })
    if (problem !== undefined) throw new SettingsError('simulator', [problem])
    const stripe = stripeAt(url('STRIPE_URL'), secretKey)
    return stripeConnector(
      { stripe, publishableKey, publicUrl: publicUrl(), checkoutOrigin },
      secrets('stripe-webhook-secret'),
    )
  },
  join(import.meta.dirname, 'migrations'),
)
