// Shows requests and answers with their secrets masked, by the names of fields.
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

/** A request as a curl command line for a POSIX shell, with its keys masked. */
export function curlLine({ method, url, headers, body }: Sent): string {
  const parts = ['curl', '-sS', ...(method === 'GET' ? [] : ['-X', method]), quoted(maskedUrl(url))]
  for (const [name, value] of Object.entries(headers)) {
    parts.push('-H', quoted(`${name}: ${maskedValue(name, value) as string}`))
  }
  if (body !== undefined) parts.push('-d', quoted(maskedText(body)))
  return parts.join(' ')
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
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as Json).map(([name, inner]) => [
      name,
      typeof inner === 'object' ? masked(inner) : maskedValue(name, inner),
    ]),
  )
}

function maskedUrl(text: string): string {
  const url = new URL(text)
  for (const [name, value] of url.searchParams) {
    url.searchParams.set(name, String(maskedValue(name, value)))
  }
  return url.href
}

/** The kind of a key stays readable: `pwk_test_` shows which environment was called. */
function maskedValue(name: string, value: unknown): unknown {
  if (!secretNames.has(name.toLowerCase()) || value === null || value === undefined) return value
  const [prefix = ''] =
    /^pw[a-z]_(?:test_|live_)?/.exec(typeof value === 'string' ? value : '') ?? []
  return `${prefix}${mask}`
}

/** In single quotes, for a POSIX shell, in one line. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
