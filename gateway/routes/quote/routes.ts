// The /quote routes: create and read quotes.
import type { Static } from 'typebox'
import { QuoteKind } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  readAmount,
  readCurrency,
  readId,
  readPhone,
} from '../../http/validate.ts'
import { versionQuery } from '../schema-values.ts'
import { newQuoteFields, readQuoteFields } from './answer.ts'
import { quoteBody, quoteQuery } from './schemas.ts'

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfQuote = compileQuery(quoteQuery, version)
const bodyOfQuote = compileCheck(quoteBody)

type Body = Static<typeof quoteBody>

const common = { version, path: '/quote', envelope: 'quote' } as const

/** POST /quote and GET /quote. */
export const quoteRoutes = [
  route({
    ...common,
    method: 'POST',
    query: queryOfVersion,
    body: bodyOfQuote,
    read: readNewQuote,
    credential: { kind: 'session' },
    async operate(request, { services, projectId }) {
      const { quote } = await services.quotes
        .createQuote({ ...request, projectId }, withProject(projectId))
        .catch(toPublicError())
      return { code: 200, message: 'Quote created successfully.', fields: newQuoteFields(quote) }
    },
  }),
  route({
    ...common,
    method: 'GET',
    query: queryOfQuote,
    read: ({ query }) => ({ quoteId: query.quote_id, institutionName: query.institution_name }),
    credential: { kind: 'none' },
    async operate({ quoteId: sentId, institutionName }, { services, projectId }) {
      const quoteId = readId(sentId, 'QUOTE_NOT_FOUND')
      const { quote } = await services.quotes
        .getQuote({ quoteId, institutionName, projectId }, withProject(projectId))
        .catch(toPublicError())
      return { code: 200, message: 'Quote retrieved successfully.', fields: readQuoteFields(quote) }
    },
  }),
]

function readNewQuote({ body, originCountry }: Input<unknown, Body>) {
  const currency = readCurrency(body.request_currency, 'request_currency')
  const minorUnits = readAmount(body.request_amount, currency, 'request_amount')
  readParty(body.debit_party, 'debit_party', originCountry)
  return {
    kind: QuoteKind.TRANSFER,
    sessionToken: body.session_token,
    institutionName: body.institution_name,
    requested: { currency, minorUnits },
    creditParty: readParty(body.credit_party, 'credit_party', originCountry),
  }
}

/** What a party says of its account. The debit side adds nothing to a quote, but must be well formed all the same. */
function readParty(party: Body['credit_party'], path: string, country: string) {
  const {
    currency = '',
    mobile_number: number = '',
    account_number: accountNumber = '',
  } = party ?? {}
  if (currency !== '') readCurrency(currency, `${path}.currency`)
  const mobileNumber = number === '' ? '' : readPhone(number, country, `${path}.mobile_number`)
  return { currency, mobileNumber, accountNumber }
}
