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

/** The payer shows the cash code of the page to an agent, who takes the money. Does nothing while there is no code. */
export async function payInCash(operation: Operation, url: string, tillUrl: string): Promise<void> {
  const page = await open(operation, url)
  const code = /class="code">([\d\s]+)</.exec(page?.html ?? '')?.[1]?.replaceAll(/\s/g, '')
  if (code !== undefined) await sendToBackEnd(`${tillUrl}/agent/collect`, { cash_code: code })
}

/** The payer types a card into the back end's form in the page's frame. Does nothing while there is no form. */
export async function payByCard(operation: Operation, url: string): Promise<void> {
  let frame = frameOf(await open(operation, url))
  // A page of ours, which waits for a slow back end.
  if (frame?.startsWith('/') === true)
    frame = frameOf(await open(operation, new URL(frame, url).href))
  if (frame?.startsWith('http') !== true) return
  await sendToBackEnd(frame, { number: '4242424242424242', expiry: '12/39', cvc: '123' })
}

function frameOf(page: Page | undefined): string | undefined {
  return /<iframe[^>]*\ssrc="([^"]+)"/.exec(page?.html ?? '')?.[1]?.replaceAll('&amp;', '&')
}

/** Sends a form of the back end. Ignores the response: the payment shows the outcome. */
async function sendToBackEnd(url: string, fields: Record<string, string>): Promise<void> {
  const signal = AbortSignal.timeout(answerWithinMs)
  await fetch(url, { method: 'POST', body: new URLSearchParams(fields), signal }).catch(
    () => undefined,
  )
}

function attribute(tag: string, name: string): string {
  const found = new RegExp(`^[^>]*?\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return found.replaceAll('&amp;', '&')
}
