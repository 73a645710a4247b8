// A payer's browser, reduced to what a page without JavaScript needs: fetch a page, read its form, send it.
import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { SharedMesh } from '../../support/mesh.ts'
import { exchange, exchangeOnce } from '../harness.ts'

/** A page as a browser gets it. Redirects are followed by hand. */
export type Page = { status: number; headers: Headers; html: string; url: string }

/** A form of a page: where it goes and what it holds. */
export type Form = { action: string; fields: Record<string, string> }

/** Opens an address. */
export async function open(url: string, init: RequestInit = {}): Promise<Page> {
  const send = init.method === undefined ? exchange : exchangeOnce
  const { status, headers, text } = await send(new URL(url), { redirect: 'manual', ...init })
  return { status, headers, html: text, url }
}

/** The page's only form. */
export function formOf({ html, url }: Page): Form {
  const [whole, ...more] = html.match(/<form\b[\s\S]*?<\/form>/g) ?? []
  if (whole === undefined || more.length > 0) throw new Error(`not one form: ${html}`)
  expect(whole).toMatch(/<form[^>]*\bmethod="post"/)
  const inputs = [...whole.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag)
  const named = inputs.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')])
  return {
    action: new URL(attribute(whole, 'action'), url).href,
    fields: Object.fromEntries(named) as Record<string, string>,
  }
}

function attribute(tag: string, name: string): string {
  const found = new RegExp(`^[^>]*?\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return unescaped(found)
}

/** Text of HTML. */
export function unescaped(html: string): string {
  const entities: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#34;': '"',
    '&#39;': "'",
    '&amp;': '&',
  }
  return html.replaceAll(/&(lt|gt|quot|#34|#39|amp);/g, (entity) => entities[entity] ?? entity)
}

/** Sends a form as a browser does, from the origin of its page. */
export function submit(
  form: Form,
  values: Record<string, string>,
  headers: Record<string, string> = { origin: new URL(form.action).origin },
): Promise<Page> {
  const body = new URLSearchParams({ ...form.fields, ...values })
  return open(form.action, { method: 'POST', body, headers })
}

/** The payer opens their page and types their PIN into its form. */
export function payByPin(url: string, pin: string): Promise<Page> {
  return submitPin(async () => formOf(await open(url)), pin)
}

/** The payer types their PIN into a form, again if the back end does not know the charge yet. */
export function submitPin(form: () => Form | Promise<Form>, pin: string): Promise<Page> {
  return eventually(
    async () => submit(await form(), { pin }),
    ({ status }) => expect(status).not.toBe(503),
  )
}

/** The cash code on an agent's page, digits only. It is there once the back end knows the charge. */
export function cashCodeOf(url: string): Promise<string> {
  return eventually(async () => {
    const { html } = await open(url)
    const code = /class="code">([\d\s]+)</.exec(html)?.[1]?.replaceAll(/\s/g, '')
    if (code === undefined) throw new Error(`no cash code: ${html}`)
    return code
  })
}

/** An agent takes cash for a code at the till of the simulator. */
export async function collectCash(
  { sandbox }: Pick<SharedMesh, 'sandbox'>,
  cashCode: string,
): Promise<Page> {
  const till = await open(`${sandbox.simulator_url}/agent`)
  const charge = await submit(formOf(till), { cash_code: cashCode })
  expect(charge.status, charge.html).toBe(200)
  return submit(formOf(charge), {})
}

/** The address of the card form in the page's frame. It is there once the back end knows the charge. */
export function cardFrameOf(url: string): Promise<string> {
  return eventually(async () => {
    const frame = await frameOf(url)
    // A page of ours, which waits for a slow back end.
    return frame.startsWith('/') ? frameOf(new URL(frame, url).href) : frame
  })
}

async function frameOf(url: string): Promise<string> {
  const { html } = await open(url)
  const frame = /<iframe[^>]*\ssrc="([^"]+)"/.exec(html)?.[1]
  if (frame === undefined) throw new Error(`no card form: ${html}`)
  return unescaped(frame)
}

/** The card form in the page's frame. */
export async function cardFormOf(url: string): Promise<Form> {
  return formOf(await open(await cardFrameOf(url)))
}

/** The payer fills in the card form. */
export async function payByCard(url: string, number: string): Promise<Page> {
  return submit(await cardFormOf(url), { number, expiry: '12/39', cvc: '123' })
}
