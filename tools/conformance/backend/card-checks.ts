// Checks of the hosted card form: who may frame it, what it does with a card.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { demand, Unmet } from '../check.ts'
import {
  announce,
  type BackendCheck,
  backendGroup,
  type CheckContext,
  demandCoherent,
  demandExecuted,
  demandStatus,
  isExecuted,
  reported,
  shownAmount,
} from './check.ts'
import { type FormTheme, fetchFrame, filledForm, openFrame, returnUrlOf } from './forms.ts'

const card = backendGroup('cards')
const theme: FormTheme = { accentColor: '#0b57d0', darkAccentColor: '#a8c7fa' }

export const cardChecks: readonly BackendCheck[] = [
  card(
    'opens',
    'A card form opens at a URL of its own, in any language and with colours of the page.',
    ['card.form'],
    async (context) => {
      const chargeId = await announce(context, context.outcome('card.form'))
      const plain = await openFrame(context, chargeId)
      const dressed = await openFrame(context, chargeId, { language: 'pt-BR', theme })
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
    async (context) => {
      const chargeId = await announce(context, context.outcome('card.form'))
      const { headers } = await fetchFrame(await openFrame(context, chargeId))
      const policy = headers.get('content-security-policy') ?? ''
      const ancestors = /(?:^|;)\s*frame-ancestors([^;]*)/i.exec(policy)?.[1]?.trim()
      demand(
        ancestors === context.pagesOrigin,
        `frame-ancestors is "${ancestors ?? ''}", not ${context.pagesOrigin}`,
      )
      demand(headers.get('x-frame-options') === null, 'x-frame-options forbids every frame')
    },
  ),
  card(
    'unknown-charge',
    'A form for a charge that was never announced is refused with NOT_FOUND.',
    ['card.form'],
    (context) =>
      demandStatus(
        context.charges.openCardFrame({ chargeId: randomUUID(), returnUrl: returnUrlOf(context) }),
        'not_found',
        'an unknown charge',
      ),
  ),
  card(
    'return-url',
    'A form does not lead back to a URL that runs a script or is no page.',
    ['card.form'],
    async (context) => {
      const chargeId = await announce(context, context.outcome('card.form'))
      for (const returnUrl of ['javascript:alert(1)', 'data:text/html,x', 'not a URL']) {
        const call = context.charges.openCardFrame({ chargeId, returnUrl })
        await demandStatus(call, 'invalid_argument', returnUrl)
      }
    },
  ),
  card(
    'approved',
    'A card that is approved is reported PAID with method CARD; submitting the form twice pays once.',
    ['card.approved'],
    async (context) => {
      const { chargeId, submit } = await filledForm(context, 'card.approved')
      await Promise.all([submit(), submit()])
      const { paymentMethod } = await reported(context, chargeId, 'PAID')
      demand(
        paymentMethod === 'CARD',
        `the method was reported as ${paymentMethod ?? ''}, not CARD`,
      )
      await demandExecuted(context, 'charge', chargeId, 1, shownAmount(context))
    },
  ),
  card(
    'withdrawn',
    'A card that is sent by an open form after the charge was withdrawn is not charged.',
    ['card.approved'],
    async (context) => {
      const { chargeId, submit } = await filledForm(context, 'card.approved')
      const withdrawals = [{ chargeId, reason: WithdrawReason.CANCELLED }]
      await context.charges.withdrawCharges({ withdrawals })
      await demandUncharged(context, chargeId, submit)
    },
  ),
  card(
    'withdrawn-meanwhile',
    'A card that is sent while the charge is withdrawn is charged and reported PAID, or neither.',
    ['card.approved'],
    async (context) => {
      const { chargeId, submit } = await filledForm(context, 'card.approved')
      const withdrawals = [{ chargeId, reason: WithdrawReason.CANCELLED }]
      await Promise.all([submitIfTaken(submit), context.charges.withdrawCharges({ withdrawals })])
      await delay(context.map.settle_ms, undefined, { signal: context.signal })
      // The report of an executed charge may take longer than that.
      if (await isExecuted(context, 'charge', chargeId)) await reported(context, chargeId, 'PAID')
      const reports = context.reports.of(chargeId)
      demandCoherent(reports)
      const isPaid = reports.some(({ outcome }) => outcome === 'PAID')
      await demandExecuted(context, 'charge', chargeId, isPaid ? 1 : 0, shownAmount(context))
    },
  ),
  card(
    'expired',
    'A card that is sent by the form of a charge whose time to pay is over is not charged.',
    ['card.approved'],
    async (context) => {
      const { chargeId, submit } = await filledForm(context, 'card.approved', expiresWithinS)
      await delay((expiresWithinS + 1) * 1_000, undefined, { signal: context.signal })
      await demandUncharged(context, chargeId, submit)
    },
  ),
  card(
    'declined',
    'A card that is declined is reported REFUSED.',
    ['card.declined'],
    async (context) => {
      const { chargeId, submit } = await filledForm(context, 'card.declined')
      await submit()
      await reported(context, chargeId, 'REFUSED')
    },
  ),
]

/** Enough to open a form. */
const expiresWithinS = 5

/** Submits a form, which may refuse that. */
async function submitIfTaken(submit: () => Promise<void>): Promise<void> {
  await submit().catch((error: unknown) => {
    if (!(error instanceof Unmet)) throw error
  })
}

/** Submits the form, which may refuse that, and fails when the charge is paid. */
async function demandUncharged(
  context: CheckContext,
  chargeId: string,
  submit: () => Promise<void>,
): Promise<void> {
  await submitIfTaken(submit)
  await delay(context.map.settle_ms, undefined, { signal: context.signal })
  const isPaid = context.reports.of(chargeId).some(({ outcome }) => outcome === 'PAID')
  demand(!isPaid, 'the charge was reported PAID')
  await demandExecuted(context, 'charge', chargeId, 0, shownAmount(context))
}
