// Opens hosted card forms, fills them in and submits them.
import { demand } from '../check.ts'
import { type CheckContext, newCharge, reported } from './check.ts'

/** Colours of the page that shows a form. */
export type FormTheme = { accentColor: string; darkAccentColor: string }

/** Where the last page of a form leads back to. */
export const returnUrlOf = ({ pagesOrigin }: CheckContext) => `${pagesOrigin}/pay/conformance`

/** Opens the form of a charge, and returns its URL. */
export async function openFrame(
  context: CheckContext,
  chargeId: string,
  look: { language?: string; theme?: FormTheme } = {},
): Promise<string> {
  const asked = { chargeId, returnUrl: returnUrlOf(context), ...look }
  const { frameUrl } = await context.charges.openCardFrame(asked)
  demand(URL.canParse(frameUrl), `${frameUrl} is no URL`)
  return frameUrl
}

/** Fetches the page of a form. */
export function fetchFrame(url: string): Promise<Response> {
  return fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(10_000) })
}

/** A form that is open, and what fills it with the test card and submits it. */
export async function filledForm(
  context: CheckContext,
  outcome: 'card.approved' | 'card.declined' | 'refund.returned',
  payableS?: number,
) {
  const { fields, ...payer } = context.outcome(outcome)
  const charge = newCharge(context, payer, payableS)
  return { chargeId: charge.chargeId, submit: await openForm(context, charge, fields) }
}

/** Announces a charge and opens its form; returns what fills that in and submits it. */
export async function openForm(
  context: CheckContext,
  charge: ReturnType<typeof newCharge>,
  fields: Record<string, string>,
): Promise<() => Promise<void>> {
  await context.charges.announceCharges({ charges: [charge] })
  const url = await openFrame(context, charge.chargeId)
  const { formsUrl, map } = context
  if (formsUrl === undefined) return await plainForm(url, fields)
  const call = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, fields }),
  }
  return async () => {
    const signal = AbortSignal.timeout(map.outcome_within_ms)
    const { ok, status } = await fetch(formsUrl, { ...call, signal })
    demand(ok, `what fills in forms answered ${status}`)
  }
}

/** A charge that is paid by card. */
export async function chargePaidByCard(
  context: CheckContext,
  outcome: 'card.approved' | 'refund.returned' = 'card.approved',
): Promise<string> {
  const { chargeId, submit } = await filledForm(context, outcome)
  await submit()
  await reported(context, chargeId, 'PAID')
  return chargeId
}

/** Reads a form of plain HTML; hidden fields keep the values of the page. Returns what submits it. */
async function plainForm(url: string, fields: Record<string, string>) {
  const html = await (await fetchFrame(url)).text()
  const inputs = [...html.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)].map(([tag]) => [
    /\bname="([^"]*)"/.exec(tag)?.[1] ?? '',
    /\bvalue="([^"]*)"/.exec(tag)?.[1] ?? '',
  ])
  const body = new URLSearchParams({ ...Object.fromEntries(inputs), ...fields })
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    origin: new URL(url).origin,
  }
  return async () => {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' })
    demand(response.status < 400, `the form answered ${response.status} to the card`)
  }
}
