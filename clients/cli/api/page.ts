// A payer without JavaScript: opens a page, reads its only form, submits it. Does not follow redirects.
import { request } from 'undici'
import { eventually } from './eventually.ts'

/** A page as a browser gets it. */
export type Page = { status: number; headers: Record<string, string>; html: string; url: string }

/** A form: where it goes and what it holds. */
export type Form = { action: string; fields: Record<string, string> }

const timeoutMs = 10_000

/**
 * Opens an address; with values, sends them as a form. Redirects are not followed. Rejects with undici's error, or a
 * TimeoutError after 10 s.
 */
export async function open(url: string, values?: Record<string, string>): Promise<Page> {
  const form = values && {
    method: 'POST' as const,
    body: new URLSearchParams(values).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: new URL(url).origin,
    },
  }
  const answer = await request(url, { ...form, signal: AbortSignal.timeout(timeoutMs) })
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  )
  return { status: answer.statusCode, headers, html: await answer.body.text(), url }
}

/** The page's only form, undefined when it has none. */
export function formOf({ html, url }: Page): Form | undefined {
  const [whole] = html.match(/<form\b[\s\S]*?<\/form>/) ?? []
  if (whole === undefined) return undefined
  const inputs = [...whole.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag)
  const fields = inputs.map((tag) => [attributeOf(tag, 'name'), attributeOf(tag, 'value')])
  return {
    action: new URL(attributeOf(whole, 'action'), url).href,
    fields: Object.fromEntries(fields) as Record<string, string>,
  }
}

/**
 * Sends the page's form once the page has one, since the back end may not have the charge yet; 503 is retried. Rejects
 * with NotInTime after 30 s, and as `open` does.
 */
export function fillIn(url: string, values: Record<string, string>): Promise<Page> {
  return eventually('a form to fill in', async () => {
    const form = formOf(await open(url))
    const sent = form && (await open(form.action, { ...form.fields, ...values }))
    return sent === undefined || sent.status === 503 ? undefined : sent
  })
}

/** Fills in the card form in the page's frame, as the payer would. Rejects as `fillIn` does. */
export async function payByCard(url: string, number: string): Promise<Page> {
  const frame = await eventually('a card form', async () => {
    const { html } = await open(url)
    return /<iframe[^>]*\ssrc="([^"]+)"/.exec(html)?.[1]
  })
  return await fillIn(unescaped(frame), { number, expiry: '12/39', cvc: '123' })
}

/** Takes cash for the page's code at the simulator's agent page. Rejects as `fillIn` does. */
export async function collectCash(simulatorUrl: string, url: string): Promise<Page> {
  const code = await eventually('a cash code', async () => {
    const { html } = await open(url)
    return /class="code">([\d\s]+)</.exec(html)?.[1]?.replaceAll(/\s/g, '')
  })
  const charge = await fillIn(`${simulatorUrl}/agent`, { cash_code: code })
  const form = formOf(charge)
  return form === undefined ? charge : await open(form.action, form.fields)
}

/** The text of escaped HTML. */
export function unescaped(html: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' }
  return html.replaceAll(/&(?:(lt|gt|quot|amp)|#(\d+));/g, (_, name?: string, code?: string) =>
    name === undefined ? String.fromCodePoint(Number(code)) : (entities[name] ?? ''),
  )
}

function attributeOf(tag: string, name: string): string {
  return unescaped(new RegExp(`^[^>]*?\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
}
