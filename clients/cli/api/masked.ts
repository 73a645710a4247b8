// Shows answers with their secrets masked, and requests as commands in which variables stand for them, by the names of fields.
import type { Json, Sent } from './api-call.ts'

const secretNames = new Set([
  'api_key',
  'session_token',
  'session_token_enc',
  'authorisation_token',
  'authorisation-token',
  'pw-subscription-key',
  'pin',
])
const mask = '********'

/** Names of shell variables by the secrets that they hold. */
export type Variables = ReadonlyMap<string, string>

/**
 * A request as a curl command line for a POSIX shell. A secret is the variable that holds it; one that no variable of
 * the sandbox holds, such as a session token, is a variable of the name of its field.
 */
export function curlLine(
  { method, url, headers, body }: Sent,
  variables: Variables = new Map(),
): string {
  const secretOf = (name: string, value: unknown) =>
    `*.${variables.get(String(value)) ?? variableOf(name)}.*`
  const shownUrl = new URL(url)
  for (const [name, value] of shownUrl.searchParams) {
    shownUrl.searchParams.set(name, String(replaced(name, value, secretOf)))
  }
  const parts = ['curl', '-sS', ...(method === 'GET' ? [] : ['-X', method]), quoted(shownUrl.href)]
  for (const [name, value] of Object.entries(headers)) {
    parts.push('-H', quoted(`${name}: ${String(replaced(name, value, secretOf))}`))
  }
  if (body !== undefined) {
    parts.push('-d', quoted(JSON.stringify(replaced('', JSON.parse(body), secretOf))))
  }
  return parts.join(' ')
}

function variableOf(field: string): string {
  return field.toUpperCase().replaceAll('-', '_')
}

/** A JSON text with its secrets masked; of a text that is no JSON only the length is shown. */
export function maskedText(text: string): string {
  try {
    return JSON.stringify(masked(JSON.parse(text)))
  } catch {
    return `(${text.length} characters)`
  }
}

/** A copy of a JSON value with the values of secret fields masked, at any depth. */
export function masked(value: unknown): unknown {
  return replaced('', value, maskOf)
}

/** A copy of a JSON value with `secretOf` in place of the values of secret fields, at any depth. */
function replaced(
  name: string,
  value: unknown,
  secretOf: (name: string, value: unknown) => string,
): unknown {
  if (Array.isArray(value)) return value.map((one) => replaced(name, one, secretOf))
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value as Json)
    return Object.fromEntries(entries.map(([key, one]) => [key, replaced(key, one, secretOf)]))
  }
  const isSecret = secretNames.has(name.toLowerCase()) && value !== null && value !== undefined
  return isSecret ? secretOf(name, value) : value
}

/** The kind of a key stays readable: `pwk_test_` shows which environment was called. */
function maskOf(_name: string, value: unknown): string {
  const [prefix = ''] =
    /^pw[a-z]_(?:test_|live_)?/.exec(typeof value === 'string' ? value : '') ?? []
  return `${prefix}${mask}`
}

/** In single quotes, for a POSIX shell, in one line; variables are in double quotes. */
export function quoted(text: string): string {
  return text
    .split(/\*\.([A-Z0-9_]+)\.\*/)
    .map((part, index) => (index % 2 === 1 ? `"$${part}"` : inSingleQuotes(part)))
    .join('')
}

function inSingleQuotes(text: string): string {
  return text === '' ? '' : `'${text.replaceAll("'", `'\\''`)}'`
}
