// Reads what a connector is made from: secrets in files, and variables of the environment.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isCurrency } from '#core/money/money.ts'
import { SettingsError, type SettingsOf } from '#platform/config/config.ts'

/** What a connector is made from. The process does not start without what is read here. */
export type ConnectorEnvironment = {
  /** PAYWEAVE_ENV. */
  payweaveEnv: SettingsOf<'simulator'>['payweaveEnv']
  /** The text of a file in the folder of secrets, without blanks around it; not empty. */
  secret: (file: string) => string
  /** Those of a file that has one on each line: several while one is replaced. */
  secrets: (file: string) => string[]
  /** A variable of the environment; not empty. */
  variable: (name: string) => string
  /** A variable that is an https URL, without slashes at its end; where PAYWEAVE_ENV is local also http. */
  url: (name: string) => string
  /** A variable that is an ISO 4217 code. */
  currency: (name: string) => string
  /** CONNECTOR_PUBLIC_URL: where browsers reach the pages of the connector, without a slash at its end. */
  publicUrl: () => string
  /** Origin of the payers' pages, which alone may show a card form. */
  checkoutOrigin: string
}

/** Makes the readers. They throw a SettingsError that names the file or variable and never its value. */
export function connectorEnvironment(
  settings: Pick<
    SettingsOf<'simulator'>,
    'secretsDir' | 'payweaveEnv' | 'connectorPublicUrl' | 'publicBaseUrl'
  >,
  variables: Readonly<Record<string, string | undefined>>,
): ConnectorEnvironment {
  const { secretsDir, payweaveEnv, connectorPublicUrl, publicBaseUrl } = settings
  const variable = (name: string) => variables[name] || fail(`${name} must be set`)
  const secret = (file: string) =>
    readFileSync(join(secretsDir, file), 'utf8').trim() || fail(`the secret ${file} is empty`)
  const schemes = payweaveEnv === 'local' ? ['https:', 'http:'] : ['https:']
  return {
    payweaveEnv,
    variable,
    secret,
    secrets: (file) => secret(file).split(/\s+/),
    url(name) {
      const url = URL.parse(variable(name))
      if (url === null || !schemes.includes(url.protocol))
        return fail(`${name} must be an https URL`)
      if (url.username !== '' || url.password !== '')
        return fail(`${name} must be a URL without a user`)
      return url.href.replace(/\/+$/, '')
    },
    currency(name) {
      const code = variable(name)
      return isCurrency(code) ? code : fail(`${name} must be an ISO 4217 code`)
    },
    publicUrl: () =>
      connectorPublicUrl?.replace(/\/+$/, '') ?? fail('CONNECTOR_PUBLIC_URL must be set'),
    checkoutOrigin: new URL(publicBaseUrl).origin,
  }
}

function fail(problem: string): never {
  throw new SettingsError('simulator', [problem])
}
