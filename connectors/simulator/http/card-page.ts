// The card form that payers' pages show in a frame. Card numbers are never stored or printed.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken } from '#core/identity/digest.ts'
import { isUuid, randomId } from '#core/identity/id.ts'
import { refusalReasons } from '#core/payment/words.ts'
import { directionOf, type Language } from '#core/text/language.ts'
import { refusals } from '#core/text/refusals.ts'
import { readFrameQuery } from '../../kit/http/frame-query.ts'
import { readCard } from '../domain/card.ts'
import { type ClosedReason, closedReason, type Refusal } from '../domain/charge.ts'
import { type FormOutcome, payByCard } from '../operations/pay.ts'
import { type CardFrame, findCardFrame } from '../store/charge-store.ts'
import { type CardTexts, cardTexts } from './card-texts.ts'
import { formField, type Page, type PagesContext, pageSender, priceOf } from './page.ts'

/** What `card.js` reports to the page that shows the form. */
type FormState = 'ready' | 'approved' | 'declined' | 'closed'

/** What every page of the form is made from. */
type PageBase = { language: Language; say: CardTexts; common: object }

/**
 * Makes the handlers of the card form and of its submission. They answer 404 for an unknown form, 409 for a charge that
 * cannot be paid, 422 for bad card data, and reject as a Queryable does.
 */
export function cardPage(context: PagesContext) {
  const { checkoutOrigin } = context
  const send = pageSender(context, checkoutOrigin, { runsScript: true })

  function frameOf(request: FastifyRequest) {
    const { token } = request.params as { token: string }
    return findCardFrame(context.db, hashToken(token))
  }

  return {
    async show(request: FastifyRequest, reply: FastifyReply) {
      const base = pageBase(request, checkoutOrigin)
      const frame = await frameOf(request)
      if (frame === undefined) return send(reply, unknownForm(base))
      const reason = closedReason(frame)
      if (reason !== undefined) return send(reply, closedForm(200, base, reason, frame.returnUrl))
      const data = { attemptId: randomId(), problem: undefined, expiry: '' }
      return send(reply, cardForm(200, base, frame, data))
    },
    async submit(request: FastifyRequest, reply: FastifyReply) {
      const base = pageBase(request, checkoutOrigin)
      const frame = await frameOf(request)
      if (frame === undefined) return send(reply, unknownForm(base))
      const sentId = formField(request, 'attempt_id')
      const attemptId = isUuid(sentId) ? sentId.toLowerCase() : randomId()
      const expiry = formField(request, 'expiry')
      const card = { number: formField(request, 'number'), expiry, cvc: formField(request, 'cvc') }
      const reading = readCard(card, frame.now)
      if (reading.verdict === undefined) {
        const problem = { field: reading.field, message: base.say[reading.problem] }
        const data = { attemptId, problem, expiry: expiry.slice(0, 9) }
        return send(reply, cardForm(422, base, frame, data))
      }
      const result = await payByCard(context, frame.chargeId, attemptId, reading.verdict)
      if (result.outcome === 'closed') {
        return send(reply, closedForm(409, base, result.reason, frame.returnUrl))
      }
      return send(reply, cardResult(base, result, frame.returnUrl))
    },
  }
}

/** The language and the colours that the query of the form's address asks for. */
function pageBase({ query }: FastifyRequest, host: string): PageBase {
  const { language, theme } = readFrameQuery(query)
  const say = cardTexts[language]
  return { language, say, common: { say, language, direction: directionOf(language), theme, host } }
}

function unknownForm({ say, common }: PageBase): Page {
  const data = { ...common, state: 'closed' satisfies FormState, message: say.unknownText }
  return { status: 404, view: './card-message', title: say.unknown, data }
}

function cardForm(
  status: number,
  { language, say, common }: PageBase,
  frame: CardFrame,
  form: object,
) {
  const price = priceOf(frame, language)
  const labels = {
    price,
    merchant: say.to.replace('{merchant}', () => frame.businessName ?? ''),
    payLabel: say.pay.replace('{price}', () => price),
  }
  const state: FormState = 'ready'
  const data = { ...common, ...labels, ...form, state }
  return { status, view: './card', title: say.title, data }
}

function closedForm(
  status: number,
  { say, common }: PageBase,
  reason: ClosedReason,
  returnUrl: string,
): Page {
  const state: FormState = 'closed'
  const data = {
    ...common,
    outcome: state,
    state,
    message: say[reason],
    canRetry: false,
    returnUrl,
  }
  return { status, view: './card-result', title: say.closed, data }
}

function cardResult(
  { language, say, common }: PageBase,
  result: Exclude<FormOutcome, { outcome: 'closed' }>,
  returnUrl: string,
): Page {
  const isPaid = result.outcome === 'paid'
  const state: FormState = isPaid ? 'approved' : 'declined'
  const refusal = result.outcome === 'refused' ? result.refusal : undefined
  const message = isPaid ? say.approvedText : declinedText(say, language, refusal)
  const data = { ...common, outcome: state, state, message, canRetry: !isPaid, returnUrl }
  return { status: 200, view: './card-result', title: isPaid ? say.approved : say.declined, data }
}

/** That the card was declined, and as far as the payer may know it why, and what to do. */
function declinedText(say: CardTexts, language: Language, refusal: Refusal | undefined): string {
  const reason = refusalReasons.find((one) => one === refusal)
  if (reason === undefined) return say.declinedText
  const { why, advice } = refusals[language][reason]
  if (reason === 'insufficient_funds') return `${say.insufficientFundsText} ${advice}`
  return `${say.declinedText} ${why} ${advice}`
}
