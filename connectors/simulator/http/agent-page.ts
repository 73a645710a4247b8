// An agent's till: accepts a payer's cash by cash code, without showing who the payer is.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { closedReason } from '../domain/charge.ts'
import { collectAtAgent } from '../operations/pay.ts'
import { findCashCharge } from '../store/charge-store.ts'
import { cardTexts } from './card-texts.ts'
import { formField, type Page, type PagesContext, pageSender, priceOf } from './page.ts'

const cashCodePattern = /^\d{12}$/

/**
 * Makes the handlers of the agent's page: ask for a cash code, show its charge, collect. They answer 404 for an unknown
 * code, 409 for a charge that cannot be paid, 422 for a malformed code, and reject as a Queryable does.
 */
export function agentPage(context: PagesContext) {
  const send = pageSender(context, "'none'")

  async function chargeOf(request: FastifyRequest) {
    const cashCode = formField(request, 'cash_code').replaceAll(/[\s-]/g, '')
    if (!cashCodePattern.test(cashCode)) return codeForm(422, 'A cash code has twelve digits.')
    const charge = await findCashCharge(context.db, cashCode)
    return charge === undefined
      ? codeForm(404, 'No payment has this cash code.')
      : { charge, cashCode }
  }

  return {
    ask: (_request: FastifyRequest, reply: FastifyReply) => send(reply, codeForm(200)),
    async look(request: FastifyRequest, reply: FastifyReply) {
      const found = await chargeOf(request)
      if ('view' in found) return send(reply, found)
      const { charge, cashCode } = found
      const reason = closedReason(charge)
      if (reason !== undefined) {
        return send(reply, tillResult(409, 'Not collected', cardTexts.en[reason]))
      }
      const data = { cashCode, businessName: charge.businessName, price: priceOf(charge, 'en') }
      return send(reply, { status: 200, view: './agent-charge', title: 'Collect cash', data })
    },
    async collect(request: FastifyRequest, reply: FastifyReply) {
      const found = await chargeOf(request)
      if ('view' in found) return send(reply, found)
      const { charge } = found
      const result = await collectAtAgent(context, charge.chargeId)
      if (result.outcome === 'closed') {
        return send(reply, tillResult(409, 'Not collected', cardTexts.en[result.reason]))
      }
      const message = `${priceOf(charge, 'en')} collected for ${charge.businessName}.`
      return send(reply, tillResult(200, 'Collected', message))
    },
  }
}

function codeForm(status: number, problem?: string): Page {
  return { status, view: './agent', title: 'Collect cash', data: { problem } }
}

function tillResult(status: number, title: string, message: string): Page {
  return { status, view: './agent-result', title, data: { message } }
}
