// A payer's browser, reduced to what a page without JavaScript needs: fetch the page, read its form, send a PIN.
import type { Operation } from './records.ts'

export const rightPin = '123456'
export const wrongPin = '000002'
const answerWithinMs = 25_000

type Page = { status: number; html: string }

/** Fetches a page, and notes the answer. Undefined when none came. */
async function open(
  operation: Operation,
  url: string,
  body?: URLSearchParams,
): Promise<Page | undefined> {
  const sentMs = Date.now()
  const method = body === undefined ? 'GET' : 'POST'
  const note = (status: number, error?: string): void => {
    const one = { route: `${method} /pay/…`, sentMs, endMs: Date.now(), status }
    operation.tries.push({ ...one, ...(error !== undefined && { error }) })
  }
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerWithinMs),
      ...(body !== undefined && { body, headers: { origin: new URL(url).origin } }),
    })
    const html = await response.text()
    note(response.status)
    return { status: response.status, html }
  } catch (error) {
    const { name, cause } = error as Error & { cause?: NodeJS.ErrnoException }
    note(0, cause?.code ?? name)
    return undefined
  }
}

/** The payer opens the page and types a PIN, if the page asks for one. */
export async function payByPin(operation: Operation, url: string, pin: string): Promise<void> {
  const page = await open(operation, url)
  const form = /<form\b[\s\S]*?<\/form>/.exec(page?.html ?? '')?.[0] ?? ''
  if (!form.includes('name="pin"')) return
  const fields = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]): [string, string] => [
    attribute(tag, 'name'),
    attribute(tag, 'value'),
  ])
  const body = new URLSearchParams({ ...Object.fromEntries(fields), pin })
  await open(operation, new URL(attribute(form, 'action'), url).href, body)
}

function attribute(tag: string, name: string): string {
  const found = new RegExp(`^[^>]*?\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return found.replaceAll('&amp;', '&')
}
