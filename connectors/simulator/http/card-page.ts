// The card form that payers' pages show in a frame. Card numbers are never stored or printed.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUuid, randomId } from '#core/identity/id.ts'
import { hashToken } from '#core/identity/token.ts'
import { readCard } from '../domain/card.ts'
import { type ClosedReason, closedReason } from '../domain/charge.ts'
import { type FormOutcome, payByCard } from '../operations/pay.ts'
import { findCardFrame, type StoredCharge } from '../store/charge-store.ts'
import {
  closedTexts,
  formField,
  type Page,
  type PagesContext,
  pageSender,
  priceOf,
} from './page.ts'

const unknownForm: Page = {
  status: 404,
  view: './message',
  title: 'Unknown form',
  data: { message: 'There is no such card form. Go back and open it again.' },
}

/**
 * Makes the handlers of the card form and of its submission. They answer 404 for an unknown form, 409 for a charge that
 * cannot be paid, 422 for bad card data, and reject as a Queryable does.
 */
export function cardPage(context: PagesContext) {
  const send = pageSender(context, context.checkoutOrigin)

  function frameOf(request: FastifyRequest) {
    const { token } = request.params as { token: string }
    return findCardFrame(context.db, hashToken(token))
  }

  return {
    async show(request: FastifyRequest, reply: FastifyReply) {
      const frame = await frameOf(request)
      if (frame === undefined) return send(reply, unknownForm)
      const reason = closedReason(frame)
      if (reason !== undefined) return send(reply, closedForm(200, reason, frame.returnUrl))
      const data = { ...formData(frame), attemptId: randomId(), problem: undefined, expiry: '' }
      return send(reply, { status: 200, view: './card', title: 'Pay by card', data })
    },
    async submit(request: FastifyRequest, reply: FastifyReply) {
      const frame = await frameOf(request)
      if (frame === undefined) return send(reply, unknownForm)
      const sentId = formField(request, 'attempt_id')
      const attemptId = isUuid(sentId) ? sentId.toLowerCase() : randomId()
      const expiry = formField(request, 'expiry')
      const card = { number: formField(request, 'number'), expiry, cvc: formField(request, 'cvc') }
      const reading = readCard(card, frame.now)
      if (reading.verdict === undefined) {
        const data = { ...formData(frame), attemptId, problem: reading, expiry: expiry.slice(0, 9) }
        return send(reply, { status: 422, view: './card', title: 'Pay by card', data })
      }
      const result = await payByCard(context, frame.chargeId, attemptId, reading.verdict)
      if (result.outcome === 'closed') {
        return send(reply, closedForm(409, result.reason, frame.returnUrl))
      }
      return send(reply, cardResult(result, frame.returnUrl))
    },
  }
}

function closedForm(status: number, reason: ClosedReason, returnUrl: string): Page {
  const data = { outcome: 'closed', message: closedTexts[reason], canRetry: false, returnUrl }
  return { status, view: './card-result', title: 'Cannot be paid', data }
}

function formData(frame: StoredCharge & { returnUrl: string }) {
  const { businessName, returnUrl } = frame
  return { businessName, price: priceOf(frame), returnUrl }
}

function cardResult(result: Exclude<FormOutcome, { outcome: 'closed' }>, returnUrl: string): Page {
  const view = './card-result'
  if (result.outcome === 'paid') {
    const message = 'The payment was approved.'
    const data = { outcome: 'approved', message, canRetry: false, returnUrl }
    return { status: 200, view, title: 'Approved', data }
  }
  const isShortOfFunds = result.outcome === 'refused' && result.refusal === 'insufficient_funds'
  const why = isShortOfFunds ? 'declined: insufficient funds' : 'declined'
  const message = `The card was ${why}. No money moved.`
  const data = { outcome: 'declined', message, canRetry: true, returnUrl }
  return { status: 200, view, title: 'Declined', data }
}
