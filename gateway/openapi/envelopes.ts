// The envelope of every route group as JSON Schema, for successes and for all refusals.
import { type TSchema, Type } from 'typebox'
import { publicReasons } from '#core/errors/errors.ts'
import { type EnvelopeName, envelopes } from '../http/envelope.ts'
import type { RouteRow } from '../http/route.ts'
import {
  anyText,
  count,
  fieldsOf,
  isoTime,
  listOf,
  ownText,
  uuid,
} from '../routes/answer-values.ts'
import { describedSchema, type JsonSchema } from './described-schema.ts'
import type { Success } from './operation.ts'

const clientIp = () =>
  fieldsOf({
    request_ip: anyText(),
    socket_remote_address: anyText(),
    x_forwarded_for: Type.Optional(anyText()),
    cf_connecting_ip: Type.Optional(anyText()),
  })

/** The fields of an envelope beside its content. */
function facts(
  shown: { requestId: boolean; timestamp: boolean; clientIp: boolean },
  row?: RouteRow,
) {
  const isOnRequest = row === undefined || row.clientIpOnRequest === true
  return {
    ...(shown.requestId ? { request_id: uuid() } : {}),
    ...(shown.timestamp ? { timestamp: isoTime() } : {}),
    ...(shown.clientIp
      ? { observed_client_ip: isOnRequest ? Type.Optional(clientIp()) : clientIp() }
      : {}),
  }
}

/** The body of a success of a route. */
export function successSchema(row: RouteRow, code: number, success: Success): JsonSchema {
  return describedSchema(successFields(row, code, success))
}

/** The same as it is written, with the keywords of our own. */
export function successFields(row: RouteRow, code: number, success: Success): TSchema {
  const { fields, withoutMessage } = success
  return fieldsOf({
    status: Type.Literal('success'),
    code: Type.Literal(code),
    ...(withoutMessage === true ? {} : { message: ownText() }),
    ...facts(envelopes[row.envelope].success, row),
    ...fields,
  })
}

/** The body of any refusal of a route group. */
export function refusalSchema(form: EnvelopeName): JsonSchema {
  return describedSchema(refusalFields(form))
}

/** The same as it is written, with the keywords of our own. */
export function refusalFields(form: EnvelopeName): TSchema {
  const shown = envelopes[form].error
  return fieldsOf({
    status: Type.Literal('error'),
    code: count({ minimum: 400, maximum: 599 }),
    message: anyText(),
    ...(shown.errorCode ? { errorCode: Type.Optional(Type.Enum(Object.keys(publicReasons))) } : {}),
    ...facts(shown),
    missing: Type.Optional(listOf(anyText())),
    ...(shown.help ? { field: Type.Optional(anyText()), doc_url: anyText() } : {}),
    ...(shown.errorCode ? { data: Type.Optional(lookupData()) } : {}),
  })
}

const lookupData = () =>
  fieldsOf({
    errorCode: Type.Enum(['ACCOUNT_NOT_FOUND', 'AMBIGUOUS_MATCH', 'REQUEST_ID_REUSED']),
    details: fieldsOf({ lookup_type: anyText() }),
  })

/** Name of the schema of a route group's refusals. */
export function refusalName(form: EnvelopeName): string {
  return {
    full: 'Refusal',
    quote: 'QuoteRefusal',
    billCreate: 'BillRefusal',
    billRead: 'BillRefusal',
  }[form]
}
