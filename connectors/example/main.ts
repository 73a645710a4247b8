// Starts the example connector. No business logic here.
import { runConnector } from '../kit/process.ts'
import { acmeConnector } from './connector.ts'
import { acmeAt } from './ports/acme.ts'

runConnector(({ secret, url }) =>
  acmeConnector(acmeAt(url('ACME_URL'), secret('acme-api-key')), [secret('acme-webhook-secret')]),
)
