// The list of the /institution routes, with those of quotes.
import { QuoteKind } from '#gen/payweave/quotes/v1/quotes_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { toPublicError } from '../../http/envelope.ts'
import { route } from '../../http/route.ts'
import {
  compileCheck,
  compileQuery,
  readAmount,
  readCurrency,
  readId,
} from '../../http/validate.ts'
import { newInstitutionQuoteFields, postQuoteFields } from '../quote/answer.ts'
import { versionQuery } from '../schema-values.ts'
import { institutionPostQuery, institutionQuoteBody } from './schemas.ts'
import { institutionTransactionRoutes } from './transactions.ts'

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfPost = compileQuery(institutionPostQuery, version)
const bodyOfQuote = compileCheck(institutionQuoteBody)

const common = { version, envelope: 'full' } as const

/** The five routes under /institution. */
export const institutionRoutes = [
  ...institutionTransactionRoutes,
  route({
    ...common,
    method: 'POST',
    path: '/institution/quote',
    query: queryOfVersion,
    body: bodyOfQuote,
    read({ body }) {
      const currency = readCurrency(body.request_currency, 'request_currency')
      const minorUnits = readAmount(body.request_amount, currency, 'request_amount')
      return {
        kind: QuoteKind.INSTITUTION,
        sessionToken: body.session_token,
        institutionName: body.institution_name,
        requested: { currency, minorUnits },
      }
    },
    institution: ({ body }) => body.institution_name,
    credential: { kind: 'session' },
    async operate(request, { services, projectId }) {
      const { quote } = await services.quotes
        .createQuote({ ...request, projectId }, withProject(projectId))
        .catch(toPublicError())
      const fields = newInstitutionQuoteFields(quote)
      return { code: 200, message: 'Quote created successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/institution/post',
    query: queryOfPost,
    read: ({ query }) => ({ quoteId: query.quote_id, institutionName: query.institution_name }),
    institution: ({ query }) => query.institution_name,
    credential: { kind: 'none' },
    async operate({ quoteId: sentId, institutionName }, { services, projectId }) {
      const quoteId = readId(sentId, 'QUOTE_NOT_FOUND')
      const { quote } = await services.quotes
        .getQuote({ quoteId, institutionName, projectId }, withProject(projectId))
        .catch(toPublicError())
      return { code: 200, message: 'Quote retrieved successfully.', fields: postQuoteFields(quote) }
    },
  }),
]
