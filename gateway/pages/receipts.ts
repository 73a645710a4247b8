// Serves a printable receipt at its unguessable link; never keeps or logs the link's token.
import type { Client } from '@connectrpc/connect'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import type { BillingService } from '#gen/payweave/billing/v1/billing_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import { isLinkToken } from './page-guard.ts'
import { type Site, sendMessage } from './render.ts'

/** Reads a receipt by the token of its link. */
export type ReceiptsClient = Pick<Client<typeof BillingService>, 'readReceipt'>

type ReceiptRequest = FastifyRequest<{ Params: { token: string } }>

/** Registers `/receipts/<token>`. */
export function registerReceipts(
  app: FastifyInstance,
  { receipts, log, site }: { receipts: ReceiptsClient; log: Logger; site: Site },
): void {
  app.get('/receipts/:token', async (request: ReceiptRequest, reply) => {
    const { token } = request.params
    if (!isLinkToken(token)) return sendMessage(reply, site, 'notFound')
    try {
      const { pdf, receiptId } = await receipts.readReceipt({ token })
      return sendPdf(reply, receiptId, pdf)
    } catch (error) {
      if (error instanceof Failure && error.reason === 'BILL_PAYMENT_NOT_FOUND') {
        return sendMessage(reply, site, 'notFound')
      }
      log.warn({ requestId: request.edge.requestId, err: error }, 'receipt page failed')
      return sendMessage(reply, site, 'unavailable')
    }
  })
}

function sendPdf(reply: FastifyReply, receiptId: string, pdf: Uint8Array): FastifyReply {
  return reply
    .headers({
      'content-type': 'application/pdf',
      'content-disposition': `inline; filename="${receiptId}.pdf"`,
      'content-security-policy': "default-src 'none'",
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    })
    .send(Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength))
}
