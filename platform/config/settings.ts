// The one table of settings: source of validation, the redacted print and the docs.

import { consolePort, metricsUrls, setting } from './setting.ts'
import {
  amounts,
  baseUrl,
  feeSchedule,
  flag,
  fraudRules,
  integer,
  networks,
  optional,
  origins,
  path,
  plainText,
  type Reader,
  schedule,
  userLimits,
  versionNotices,
} from './values.ts'
import { security, wiring } from './wiring.ts'

const dayS = 86_400
const yearS = 365 * dayS

const edge = {
  PUBLIC_BASE_URL: setting({
    for: ['gateway', 'payments', 'billing', 'simulator', 'console', 'launcher'],
    reader: baseUrl,
    default: {
      local: ({ gatewayPort }) => `http://127.0.0.1:${gatewayPort}`,
      sandbox: undefined,
      production: undefined,
    },
    meaning:
      'Address at which clients and payers reach the gateway; the links of payers start with it.',
  }),
  TRUSTED_PROXIES: setting({
    for: ['gateway'],
    reader: networks,
    default: '',
    meaning:
      'Networks whose forwarding headers the gateway trusts: the load balancer’s own addresses, nothing wider. Empty: none.',
  }),
  RATE_LIMIT_RPS: setting({
    for: ['gateway'],
    reader: integer(0, 100_000),
    default: { local: '0', sandbox: '25', production: '100' },
    meaning: 'Requests per second and subscription key; the burst is twice that. 0: no limit.',
  }),
  GATEWAY_REPLICAS: setting({
    for: ['gateway'],
    reader: integer(1, 1_000),
    default: '1',
    meaning: 'Number of gateway replicas; each allows its share of RATE_LIMIT_RPS.',
  }),
  SESSION_LOOKUPS_PER_MIN: setting({
    for: ['gateway'],
    reader: integer(0, 100_000),
    default: { local: '0', sandbox: '10', production: '10' },
    meaning:
      'Account sessions per minute, project and lookup value. Balances, and histories, of a number may each be read six times as often. 0: no limit.',
  }),
  REQUEST_DATE_TOLERANCE_S: setting({
    for: ['gateway'],
    reader: integer(0, dayS),
    default: { local: '0', sandbox: '0', production: '900' },
    meaning: 'Maximum difference between PW-request-date and the current time. 0: not checked.',
  }),
  API_LOG: setting({
    for: ['gateway'],
    reader: flag,
    default: '1',
    meaning:
      'Records every request of a known project, masked, in the API log of the console for 30 days.',
  }),
  DOCS_SANDBOX_FILE: setting({
    for: ['gateway'],
    reader: optional(path),
    default: { local: ({ dataDir }) => `${dataDir}/sandbox.json`, sandbox: '', production: '' },
    meaning:
      'The sandbox.json whose test keys of the project demo /docs/try-it fills in, for browsers on the same machine. Unset: readers enter keys. Leave it empty behind a proxy; production refuses to start with it.',
  }),
  VERSION_NOTICES: setting({
    for: ['gateway'],
    reader: versionNotices,
    default: '{}',
    meaning:
      'Contract versions with an end date: their responses have the headers Deprecation, Sunset and Link.',
  }),
}

const lifetimes = {
  PAYMENT_TTL_DIRECT_POS_S: setting({
    for: ['payments'],
    reader: integer(1, yearS),
    default: '900',
    meaning: 'Time to pay for the channel direct_pos.',
  }),
  PAYMENT_TTL_PAYMENT_LINK_S: setting({
    for: ['payments'],
    reader: integer(1, yearS),
    default: '86400',
    meaning: 'Time to pay for the channel payment_link.',
  }),
  PAYMENT_TTL_AGENT_S: setting({
    for: ['payments'],
    reader: integer(1, yearS),
    default: '259200',
    meaning: 'Time to pay for the channel agent.',
  }),
  SESSION_TTL_S: setting({
    for: ['accounts'],
    reader: integer(1, dayS),
    default: '900',
    meaning: 'Lifetime of an account session.',
  }),
  QUOTE_TTL_S: setting({
    for: ['quotes'],
    reader: integer(1, dayS),
    default: '300',
    meaning: 'Lifetime of a quote.',
  }),
  RATE_MAX_AGE_S: setting({
    for: ['quotes'],
    reader: integer(1, 7 * dayS),
    default: '900',
    meaning: 'Maximum age of an exchange rate, by its source’s time.',
  }),
  TRANSFER_TTL_S: setting({
    for: ['institution'],
    reader: integer(1, 30 * dayS),
    default: '604800',
    meaning: 'How long a transfer waits for its outcome before it is cancelled.',
  }),
  CHALLENGE_TTL_S: setting({
    for: ['accounts'],
    reader: integer(1, dayS),
    default: '600',
    meaning: 'How long an account holder has to answer a challenge.',
  }),
  SANDBOX_CLOCK: setting({
    for: ['payments', 'accounts', 'institution', 'quotes', 'billing'],
    reader: flag,
    default: { local: '1', sandbox: '0', production: '0' },
    meaning:
      'Lets holders of a bearer move the business time of all projects ahead, to test expiries and delays. Production refuses to start with 1.',
  }),
}

/** The origins of several parts, each by its name. */
const partOrigins: Reader<readonly { part: string; url: string }[]> = {
  of: 'part=http(s)://host[:port], comma-separated',
  read: (text) =>
    text.split(',').map((item) => {
      const [part = '', url = '', ...rest] = item.trim().split('=')
      if (!/^[a-z-]{1,40}$/.test(part) || rest.length > 0) {
        throw new Error('must be part=origin, comma-separated')
      }
      return { part, url: origins.read(url) }
    }),
}

const people = {
  CONSOLE_PORT: setting({
    for: ['launcher'],
    reader: integer(1, 65_535),
    default: {
      local: (facts) => String(consolePort(facts)),
      sandbox: (facts) => String(consolePort(facts)),
      production: '8080',
    },
    meaning: 'Port of the console in a local start.',
  }),
  CONSOLE_URL: setting({
    for: ['console'],
    reader: baseUrl,
    default: {
      local: (facts) => `http://127.0.0.1:${consolePort(facts)}`,
      sandbox: undefined,
      production: undefined,
    },
    meaning: 'Address at which people reach the console; the identity provider leads back to it.',
  }),
  CONSOLE_SANDBOX_FILE: setting({
    for: ['console'],
    reader: optional(path),
    default: { local: ({ dataDir }) => `${dataDir}/sandbox.json`, sandbox: '', production: '' },
    meaning:
      'The sandbox.json whose keys the triggers of the console use, see console.md. Unset: there are none; production refuses to start with it.',
  }),
  METRICS_URLS: setting({
    for: ['console'],
    reader: partOrigins,
    default: metricsUrls,
    meaning:
      'Ports for operators of the parts that the page Now of the console shows. A name stands for all of its addresses.',
  }),
  OIDC_ISSUER: setting({
    for: ['console'],
    reader: optional(baseUrl),
    default: '',
    meaning:
      'Issuer of the OpenID Connect provider that signs people in. Unset: the built-in provider of the local start, which works on loopback only; production refuses to start without an issuer.',
  }),
  OIDC_CLIENT_ID: setting({
    for: ['console'],
    reader: plainText,
    default: 'payweave-console',
    meaning: 'Client id of the console at the provider.',
  }),
  OIDC_CLIENT_SECRET_FILE: setting({
    for: ['console'],
    reader: optional(path),
    default: '',
    meaning:
      'File with the client secret, read at the start. Unset: a public client, by PKCE alone.',
  }),
  OIDC_SCOPE: setting({
    for: ['console'],
    reader: plainText,
    default: 'openid profile email',
    meaning:
      'Scopes that the console asks for; add the one that brings the claim of roles, if any.',
  }),
  OIDC_ROLES_CLAIM: setting({
    for: ['console'],
    reader: plainText,
    default: 'payweave_roles',
    meaning:
      'Claim of the ID token with a list of roles: `finance`, or `merchant_viewer:<project id>`. Others in the list are ignored; without any the sign-in is refused.',
  }),
  CONSOLE_IDLE_S: setting({
    for: ['console'],
    reader: integer(60, dayS),
    default: { local: '28800', sandbox: '1800', production: '900' },
    meaning: 'Idle timeout of a console session, in seconds.',
  }),
  CONSOLE_SESSION_S: setting({
    for: ['console'],
    reader: integer(60, 7 * dayS),
    default: { local: '86400', sandbox: '43200', production: '43200' },
    meaning: 'Maximum lifetime of a console session, in seconds from the sign-in.',
  }),
}

const productionSchedule = '5,30,120,600,1800,3600,7200,14400,28800,43200,57600,86400'
const productionEnquiries = '30,300,3600,86400,86400,86400,86400,86400'

const outside = {
  DELIVERY_SCHEDULE_S: setting({
    for: ['delivery'],
    reader: schedule(30 * dayS),
    default: { local: '1,2,5', sandbox: '5,30,300,3600', production: productionSchedule },
    meaning:
      'Waits after each failed attempt, ±20 %. After the last attempt the delivery is exhausted.',
  }),
  DELIVERY_TIMEOUT_S: setting({
    for: ['delivery'],
    reader: integer(1, 60),
    default: '15',
    meaning: 'Time limit of one delivery attempt.',
  }),
  DELIVERY_BREAKER_OPEN_S: setting({
    for: ['delivery'],
    reader: integer(1, dayS),
    default: { local: '1', sandbox: '30', production: '30' },
    meaning:
      'How long the circuit breaker of a lane stays open at first; doubles up to DELIVERY_BREAKER_MAX_S.',
  }),
  DELIVERY_BREAKER_MAX_S: setting({
    for: ['delivery'],
    reader: integer(1, dayS),
    default: { local: '2', sandbox: '900', production: '900' },
    meaning: 'Maximum time that the circuit breaker of a lane stays open.',
  }),
  DELIVERY_ALLOW_LOOPBACK: setting({
    for: ['gateway', 'payments', 'accounts', 'delivery'],
    reader: flag,
    default: { local: '1', sandbox: '0', production: '0' },
    meaning: 'Allows http and loopback addresses as receivers. Production refuses to start with 1.',
  }),
  BILLER_TIMEOUT_S: setting({
    for: ['gateway', 'billing'],
    reader: integer(1, 50),
    default: { local: '8', sandbox: '20', production: '20' },
    meaning:
      'How long a bill payment waits for the biller before the response is 202. The gateway responds 5 s later at the latest. Set the same value for both processes.',
  }),
  ENQUIRY_SCHEDULE_S: setting({
    for: ['billing', 'institution'],
    reader: schedule(30 * dayS),
    default: { local: '2,5,10', sandbox: productionEnquiries, production: productionEnquiries },
    meaning:
      'Waits before each enquiry about an unknown outcome. After the last one, bill payments wait for a person; transfers repeat the last wait.',
  }),
}

const defaultFees = JSON.stringify({
  card_processing: '2.90',
  platform_processing: '0.50',
  agent_processing: '1.00',
  convenience: '0.00',
})

/** Person 06 of the sandbox is on its block list. */
const sandboxBlockList = ['+12025550106']

function defaultFraudRules(blocked: string[]): string {
  return JSON.stringify({
    velocity_per_min: 30,
    ceilings: { USD: '10000.00', TTD: '70000.00' },
    blocked_mobile_numbers: blocked,
  })
}

const defaultUserLimits = JSON.stringify({
  currency: 'TTD',
  levels: {
    0: { single: '500.00', daily: '1000.00', monthly: '5000.00' },
    1: { single: '5000.00', daily: '10000.00', monthly: '50000.00' },
    2: { single: '25000.00', daily: '50000.00', monthly: '200000.00' },
  },
})

const rules = {
  FEE_SCHEDULE: setting({
    for: ['payments'],
    reader: feeSchedule,
    default: defaultFees,
    meaning: 'Fee parts in percent of a payer’s amount.',
  }),
  FRAUD_RULES: setting({
    for: ['payments'],
    reader: fraudRules,
    default: {
      local: defaultFraudRules(sandboxBlockList),
      sandbox: defaultFraudRules(sandboxBlockList),
      production: defaultFraudRules([]),
    },
    // Secret, because the block list has phone numbers of people.
    secret: true,
    meaning: 'Rules of the fraud check.',
  }),
  REFUND_APPROVAL_ABOVE: setting({
    for: ['payments'],
    reader: amounts,
    default: JSON.stringify({ USD: '1000.00', TTD: '7000.00' }),
    meaning:
      'Refunds of payments above this amount that a person or a bearer requests wait for a second person. A currency that is not listed has no limit; the JSON API has none.',
  }),
  USER_LIMITS: setting({
    for: ['accounts'],
    reader: userLimits,
    default: defaultUserLimits,
    meaning: 'Limits by account level.',
  }),
}

/** Every setting by its environment variable. */
export const settings = {
  ...wiring,
  ...security,
  ...edge,
  ...people,
  ...lifetimes,
  ...outside,
  ...rules,
}
