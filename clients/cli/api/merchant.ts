// Makes the SDK client of commands that need the keys of a merchant alone.
import { createPayweave, type Payweave } from '../../sdk-typescript/index.ts'
import type { CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { givenSubscriptionKey, keyOptions, readTarget, targetOptions } from './target.ts'

/** Options of every command that calls the public API for a merchant. */
export const merchantOptions = {
  ...targetOptions,
  ...keyOptions,
  project: 'project in sandbox.json (demo)',
  country: 'ISO code of the country by which national phone numbers are parsed (US)',
  'ip-address': 'address to send as PW-ip-address (127.0.0.1)',
} as const

/** The options of `merchantOptions` that commands with another way in have too. */
export const merchantKeyOptions = {
  'base-url':
    'address of the public API: works with the keys of a merchant alone (PAYWEAVE_BASE_URL)',
  ...keyOptions,
} as const

/** Whether the keys of a merchant were given, and no bearer of a service. Throws a UsageError as `readTarget` does. */
export function hasMerchantKeys({ options, env }: CommandContext): boolean {
  if (options['url'] !== undefined || options['token'] !== undefined) return false
  return givenSubscriptionKey(options, env) !== undefined
}

/** The client of the merchant that is meant. Throws a UsageError without an address or a key. */
export function merchantOf({ options, env }: CommandContext): Payweave {
  const target = readTarget(options, env)
  const name = options['project'] ?? 'demo'
  const project = target.projects[name as keyof typeof target.projects]
  if (project === undefined) throw new UsageError(`sandbox.json has no project ${name}`)
  const { subscriptionKey, apiKey } = project
  if (apiKey === undefined) throw new UsageError('PAYWEAVE_API_KEY or --api-key is missing')
  return createPayweave({
    baseUrl: target.baseUrl,
    subscriptionKey,
    apiKey,
    originCountry: options['country'] ?? 'US',
    ipAddress: options['ip-address'] ?? '127.0.0.1',
    userAgent: 'payweave-cli',
  })
}

/** The options of each call: it ends with the command. */
export function signalOf({ stopping }: CommandContext): { signal: AbortSignal } {
  return { signal: stopping }
}
