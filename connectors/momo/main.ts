// Starts the connector of MTN MoMo. No business logic here.
import { join } from 'node:path'
import { type ConnectorEnvironment, runConnector } from '../kit/process.ts'
import { momoConnector } from './connector.ts'
import { momoAt } from './ports/momo.ts'

const credentialsOf = ({ secret }: ConnectorEnvironment, product: string) => ({
  subscriptionKey: secret(`momo-${product}-subscription-key`),
  apiUser: secret(`momo-${product}-api-user`),
  apiKey: secret(`momo-${product}-api-key`),
})

runConnector(
  (environment) => {
    const { variable } = environment
    const momo = momoAt({
      baseUrl: variable('MOMO_URL'),
      targetEnvironment: variable('MOMO_TARGET_ENVIRONMENT'),
      callbackUrl: variable('MOMO_CALLBACK_URL'),
      credentials: {
        collection: credentialsOf(environment, 'collection'),
        disbursement: credentialsOf(environment, 'disbursement'),
      },
    })
    return momoConnector({ momo, currency: variable('MOMO_CURRENCY') })
  },
  join(import.meta.dirname, 'migrations'),
)
