// Creates a payment in a sandbox as a merchant, through the SDK, and waits until it is paid.
import { randomUUID } from 'node:crypto'
import { createPayweave } from '../../clients/sdk-typescript/index.ts'

/** What sandbox.json says. */
export type Sandbox = {
  base_url: string
  projects: { demo: { subscription_key: string; api_key: string } }
}

/** The state in which the payment ends; the number of its payer pays at once. Pushes go to `url`. Rejects as the SDK does. */
export async function paySample({ base_url, projects }: Sandbox, url?: string): Promise<string> {
  const payweave = createPayweave({
    baseUrl: base_url,
    subscriptionKey: projects.demo.subscription_key,
    apiKey: projects.demo.api_key,
    originCountry: 'US',
    ipAddress: '127.0.0.1',
  })
  const payment = await payweave.payments.create({
    id: `image-${randomUUID()}`,
    amount: '25.00',
    currency: 'USD',
    payers: [
      { mobile_number: '+12025550101', payment_channel: 'payment_link', payment_method: 'wallet' },
    ],
    ...(url !== undefined && { urls: { notify: url, callback: url } }),
  })
  await payweave.payments.waitFor(payment.id, 'paid')
  return 'paid'
}
