// Starts the connector of MTN MoMo. No business logic here.
import { join } from 'node:path'
import { SettingsError } from '#platform/config/config.ts'
import type { ConnectorEnvironment } from '../kit/environment.ts'
import { runConnector } from '../kit/process.ts'
import { momoConnector } from './connector.ts'
import { targetProblem } from './domain/target.ts'
import { momoAt } from './ports/momo.ts'

const credentialsOf = ({ secret }: ConnectorEnvironment, product: string) => ({
  subscriptionKey: secret(`momo-${product}-subscription-key`),
  apiUser: secret(`momo-${product}-api-user`),
  apiKey: secret(`momo-${product}-api-key`),
})

runConnector(
  (environment) => {
    const { payweaveEnv, variable, url, currency } = environment
    const targetEnvironment = variable('MOMO_TARGET_ENVIRONMENT')
    const problem = targetProblem(payweaveEnv, targetEnvironment)
    if (problem !== undefined) throw new SettingsError('simulator', [problem])
    const momo = momoAt({
      baseUrl: url('MOMO_URL'),
      targetEnvironment,
      callbackUrl: url('MOMO_CALLBACK_URL'),
      credentials: {
        collection: credentialsOf(environment, 'collection'),
        disbursement: credentialsOf(environment, 'disbursement'),
      },
    })
    return momoConnector({ momo, currency: currency('MOMO_CURRENCY') })
  },
  join(import.meta.dirname, 'migrations'),
)
