// Triggers of refused keys and addresses.
import { answered, type Trigger } from './trigger.ts'

const query = { api_key: 'x', payment_details_id: 'x' }

export const accessTriggers: Trigger[] = [
  answered(
    'key.other-environment',
    'The sandbox refuses a production key.',
    401,
    'PW_INVALID_SUBSCRIPTION_KEY',
    ({ shop, target }) => {
      const headers = { 'PW-subscription-key': target.foreignKey }
      return shop.send('GET', '/payments/status', { query, headers })
    },
  ),
  answered(
    'key.unknown',
    'No project has this key.',
    401,
    'PW_INVALID_SUBSCRIPTION_KEY',
    ({ shop }) => {
      const headers = { 'PW-subscription-key': 'x'.repeat(32) }
      return shop.send('GET', '/payments/status', { query, headers })
    },
  ),
  answered(
    'key.address-not-allowed',
    'Project ip_restricted may call from 203.0.113.7 only.',
    403,
    'PW_IP_NOT_ALLOWED',
    ({ as }) => as('ip_restricted').send('GET', '/payments/status', { query }),
  ),
]
