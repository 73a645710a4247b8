// Checks of the hosted card form: who may frame it, what it does with a card.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { demand, Unmet } from '../check.ts'
import {
  announce,
  type BackendCheck,
  backendGroup,
  demandExecuted,
  demandStatus,
  newCharge,
  reported,
  shownAmount,
  type World,
} from './check.ts'

const card = backendGroup('cards')
const theme = { accentColor: '#0b57d0', darkAccentColor: '#a8c7fa' }

export const cardChecks: readonly BackendCheck[] = [
  card(
    'opens',
    'A card form opens at a URL of its own, in any language and with colours of the page.',
    ['card.form'],
    async (world) => {
      const chargeId = await announce(world, world.outcome('card.form'))
      const plain = await openFrame(world, chargeId)
      const dressed = await openFrame(world, chargeId, { language: 'pt-BR', theme })
      demand(plain !== dressed, 'two forms have the same URL')
      const page = await fetchFrame(plain)
      demand(page.status === 200, `the form answered ${page.status}`)
      const type = page.headers.get('content-type') ?? ''
      demand(type.startsWith('text/html'), `the form is ${type}, not HTML`)
    },
  ),
  card(
    'framed-by-pages-only',
    "The payer's pages, and no other origin, may frame the form (frame-ancestors).",
    ['card.form'],
    async (world) => {
      const chargeId = await announce(world, world.outcome('card.form'))
      const { headers } = await fetchFrame(await openFrame(world, chargeId))
      const policy = headers.get('content-security-policy') ?? ''
      const ancestors = /(?:^|;)\s*frame-ancestors([^;]*)/i.exec(policy)?.[1]?.trim()
      demand(
        ancestors === world.pagesOrigin,
        `frame-ancestors is "${ancestors ?? ''}", not ${world.pagesOrigin}`,
      )
      demand(headers.get('x-frame-options') === null, 'x-frame-options forbids every frame')
    },
  ),
  card(
    'unknown-charge',
    'A form for a charge that was never announced is refused with NOT_FOUND.',
    ['card.form'],
    (world) =>
      demandStatus(
        world.charges.openCardFrame({ chargeId: randomUUID(), returnUrl: returnUrlOf(world) }),
        'not_found',
        'an unknown charge',
      ),
  ),
  card(
    'return-url',
    'A form does not lead back to a URL that runs a script or is no page.',
    ['card.form'],
    async (world) => {
      const chargeId = await announce(world, world.outcome('card.form'))
      for (const returnUrl of ['javascript:alert(1)', 'data:text/html,x', 'not a URL']) {
        const call = world.charges.openCardFrame({ chargeId, returnUrl })
        await demandStatus(call, 'invalid_argument', returnUrl)
      }
    },
  ),
  card(
    'approved',
    'A card that is approved is reported PAID with method CARD; submitting the form twice pays once.',
    ['card.approved'],
    async (world) => {
      const { chargeId, submit } = await filledForm(world, 'card.approved')
      await Promise.all([submit(), submit()])
      const { paymentMethod } = await reported(world, chargeId, 'PAID')
      demand(
        paymentMethod === 'CARD',
        `the method was reported as ${paymentMethod ?? ''}, not CARD`,
      )
      await demandExecuted(world, 'charge', chargeId, 1, shownAmount(world))
    },
  ),
  card(
    'withdrawn',
    'A card that is sent by an open form after the charge was withdrawn is not charged.',
    ['card.approved'],
    async (world) => {
      const { chargeId, submit } = await filledForm(world, 'card.approved')
      const withdrawals = [{ chargeId, reason: WithdrawReason.CANCELLED }]
      await world.charges.withdrawCharges({ withdrawals })
      await demandUncharged(world, chargeId, submit)
    },
  ),
  card(
    'expired',
    'A card that is sent by the form of a charge whose time to pay is over is not charged.',
    ['card.approved'],
    async (world) => {
      const { chargeId, submit } = await filledForm(world, 'card.approved', expiresWithinS)
      await delay((expiresWithinS + 1) * 1_000, undefined, { signal: world.signal })
      await demandUncharged(world, chargeId, submit)
    },
  ),
  card(
    'declined',
    'A card that is declined is reported REFUSED.',
    ['card.declined'],
    async (world) => {
      const { chargeId, submit } = await filledForm(world, 'card.declined')
      await submit()
      await reported(world, chargeId, 'REFUSED')
    },
  ),
]

/** Enough to open a form. */
const expiresWithinS = 5

/** Submits the form, which may refuse that, and fails when the charge is paid. */
async function demandUncharged(
  world: World,
  chargeId: string,
  submit: () => Promise<void>,
): Promise<void> {
  await submit().catch((error: unknown) => {
    if (!(error instanceof Unmet)) throw error
  })
  await delay(world.map.settle_ms, undefined, { signal: world.signal })
  const isPaid = world.reports.of(chargeId).some(({ outcome }) => outcome === 'PAID')
  demand(!isPaid, 'the charge was reported PAID')
  await demandExecuted(world, 'charge', chargeId, 0, shownAmount(world))
}

const returnUrlOf = ({ pagesOrigin }: World) => `${pagesOrigin}/pay/conformance`

async function openFrame(
  world: World,
  chargeId: string,
  look: { language?: string; theme?: typeof theme } = {},
): Promise<string> {
  const asked = { chargeId, returnUrl: returnUrlOf(world), ...look }
  const { frameUrl } = await world.charges.openCardFrame(asked)
  demand(URL.canParse(frameUrl), `${frameUrl} is no URL`)
  return frameUrl
}

function fetchFrame(url: string): Promise<Response> {
  return fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(10_000) })
}

/** A form that is open, and what fills it with the test card and submits it. */
async function filledForm(
  world: World,
  outcome: 'card.approved' | 'card.declined',
  payableS?: number,
) {
  const { fields, ...payer } = world.outcome(outcome)
  const charge = newCharge(world, payer, payableS)
  const { chargeId } = charge
  await world.charges.announceCharges({ charges: [charge] })
  const url = await openFrame(world, chargeId)
  const { formsUrl, map } = world
  if (formsUrl === undefined) return { chargeId, submit: await plainForm(url, fields) }
  const call = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, fields }),
  }
  return {
    chargeId,
    async submit() {
      const signal = AbortSignal.timeout(map.outcome_within_ms)
      const { ok, status } = await fetch(formsUrl, { ...call, signal })
      demand(ok, `what fills in forms answered ${status}`)
    },
  }
}

/** A charge that is paid by card. */
export async function chargePaidByCard(world: World): Promise<string> {
  const { chargeId, submit } = await filledForm(world, 'card.approved')
  await submit()
  await reported(world, chargeId, 'PAID')
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
