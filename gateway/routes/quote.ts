// The /quote routes up to the operations, which a later service brings; it must not price anything.
import { compileQuery } from '../query.ts'
import { notBuilt, route } from '../route.ts'
import { quoteBody, quoteQuery } from '../schemas/quote.ts'
import { versionQuery } from '../schemas/values.ts'
import { compileCheck } from '../validate.ts'
import { readAmount, readCurrency } from '../values.ts'

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfQuote = compileQuery(quoteQuery, version)
const bodyOfQuote = compileCheck(quoteBody)

const common = { version, path: '/quote', envelope: 'quote', operate: notBuilt } as const

/** POST /quote and GET /quote. */
export const quoteRoutes = [
  route({
    ...common,
    method: 'POST',
    query: queryOfVersion,
    body: bodyOfQuote,
    read({ body }) {
      const currency = readCurrency(body.request_currency, 'request_currency')
      for (const party of ['debit_party', 'credit_party'] as const) {
        const named = body[party]?.currency
        if (named !== undefined) readCurrency(named, `${party}.currency`)
      }
      return readAmount(body.request_amount, currency, 'request_amount')
    },
    credential: { kind: 'session' },
  }),
  route({
    ...common,
    method: 'GET',
    query: queryOfQuote,
    read: ({ query }) => query.quote_id,
    credential: { kind: 'none' },
  }),
]
