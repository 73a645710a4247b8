// Validation across settings: combinations that contradict each other, and what production refuses.
import { isIP } from 'node:net'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Returns every contradiction between settings by name and rule, never by value. `values` are the settings that could
 * be read: a bad one is missing, and its contradictions show once it is corrected.
 */
export function contradictions(env: Env, values: Readonly<Record<string, unknown>>): string[] {
  const problems = [...transportProblems(values)]
  if (env['PAYWEAVE_ENV'] === 'production') problems.push(...productionProblems(env, values))
  if (Number(values['deliveryBreakerMaxS']) < Number(values['deliveryBreakerOpenS'])) {
    problems.push('DELIVERY_BREAKER_MAX_S must not be below DELIVERY_BREAKER_OPEN_S')
  }
  if (values['natsPasswordFile'] !== undefined && values['natsCredsFile'] !== undefined) {
    problems.push('NATS_PASSWORD_FILE and NATS_CREDS_FILE must not both be set')
  }
  return problems
}

/** Settings with addresses of our own processes: all of them use mutual TLS, or none. */
const meshUrls = {
  accountsUrl: 'ACCOUNTS_URL',
  paymentsUrl: 'PAYMENTS_URL',
  institutionUrl: 'INSTITUTION_URL',
  quotesUrl: 'QUOTES_URL',
  billingUrl: 'BILLING_URL',
  deliveryUrl: 'DELIVERY_URL',
  backendUrl: 'BACKEND_URL',
  simulatorUrl: 'SIMULATOR_URL',
}

function transportProblems(values: Readonly<Record<string, unknown>>): string[] {
  const { rpcTls } = values
  if (rpcTls !== 'off' && rpcTls !== 'required') return []
  const scheme = rpcTls === 'required' ? 'https:' : 'http:'
  return Object.entries(meshUrls).flatMap(([key, name]) => {
    const value = values[key]
    if (typeof value !== 'string') return []
    const fits = value.split(',').every((url) => url.startsWith(scheme))
    return fits ? [] : [`${name} must be ${scheme.slice(0, -1)} while RPC_TLS is ${rpcTls}`]
  })
}

function productionProblems(env: Env, values: Readonly<Record<string, unknown>>): string[] {
  const problems: string[] = []
  // Refused in every process, also in those that do not read it: the environment is often shared.
  if (env['DELIVERY_ALLOW_LOOPBACK'] === '1') {
    problems.push('DELIVERY_ALLOW_LOOPBACK must not be 1 in production')
  }
  if (textOf(values, 'publicBaseUrl').startsWith('http:')) {
    problems.push('PUBLIC_BASE_URL must be https in production')
  }
  if (values['rpcTls'] === 'off') problems.push('RPC_TLS must be required in production')
  const databaseUrl = textOf(values, 'databaseUrl')
  if (databaseUrl !== '' && !isPrivateDatabase(databaseUrl)) {
    problems.push('DATABASE_URL must say sslmode=verify-full in production')
  }
  const natsUrls = textOf(values, 'natsUrl')
  if (natsUrls !== '' && !natsUrls.split(',').every((url) => isTls(url) || isLoopback(url))) {
    problems.push('NATS_URL must be tls:// in production')
  }
  return problems
}

function textOf(values: Readonly<Record<string, unknown>>, key: string): string {
  const value = values[key]
  return typeof value === 'string' ? value : ''
}

function isTls(url: string): boolean {
  return url.startsWith('tls:')
}

/** Whether the connection is encrypted to a verified server, or stays on this machine, as with a sidecar. */
function isPrivateDatabase(url: string): boolean {
  return new URL(url).searchParams.get('sslmode') === 'verify-full' || isLoopback(url)
}

function isLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
