// Prints pushes, and forwards them to a handler of the merchant.
import type { CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { UsageError } from '../usage-error.ts'

/** As long as a receiver has to respond. */
const forwardWithinMs = 15_000

/** A push as it came, or as a receiver would get it. */
export type ReceivedPush = {
  method: string
  /** Path and query of the URL. */
  path: string
  /** Names in lower case; one may be repeated. */
  headers: [name: string, value: string][]
  body: string
}

/** Prints a push: headers and body on lines, or all as JSON. */
export function showPush({ json, print }: CommandContext, push: ReceivedPush): void {
  for (const line of json ? [pushJson(push)] : pushLines(push)) print(line)
}

/** The URL of --forward-to; undefined without one. Throws a UsageError for any other URL than http and https. */
export function handlerUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text)
  throw new UsageError('--forward-to must be an http or https URL')
}

/** Headers that belong to one connection. */
const ofConnection = new Set(
  'connection content-length host keep-alive transfer-encoding'.split(' '),
)

/** Forwards a push as it came, and resolves to the response; 502 for a handler that cannot be reached. Never rejects. */
export async function forward(
  handler: URL,
  { headers, body }: ReceivedPush,
  stopping: AbortSignal,
): Promise<{ status: number; says: string }> {
  const forwarded = headers.filter(([name]) => !ofConnection.has(name))
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(forwardWithinMs)])
  try {
    const answer = await fetch(handler, {
      method: 'POST',
      headers: forwarded,
      body,
      signal,
      redirect: 'manual',
    })
    await answer.body?.cancel()
    return { status: answer.status, says: `HTTP ${answer.status}` }
  } catch (error) {
    const { cause, message } = error as Error
    return { status: 502, says: cause instanceof Error ? cause.message : message }
  }
}

function pushJson(push: ReceivedPush): string {
  return JSON.stringify({ time: new Date().toISOString(), ...push })
}

function pushLines({ method, path, headers, body }: ReceivedPush): string[] {
  return [
    `${new Date().toISOString()}  ${method} ${printable(path)}`,
    ...headers.map(([name, value]) => `  ${printable(name)}: ${printable(value)}`),
    ...prettyBody(body).map((line) => `  ${line}`),
    '',
  ]
}

function clean(line: string): string {
  return line.replaceAll(/\p{C}/gu, '?')
}

/** Line by line: the body's own line breaks are the only control characters that reach the terminal. */
function prettyBody(body: string): string[] {
  try {
    return JSON.stringify(JSON.parse(body), null, 2).split('\n').map(clean)
  } catch {
    return body.split(/\r?\n/).map(clean)
  }
}
