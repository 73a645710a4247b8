// The masks of one route: of its query, its body or form, its responses and its refusals.
import type { TSchema } from 'typebox'
import { headerNames } from '../http/headers.ts'
import type { RouteRow } from '../http/route.ts'
import { operations } from '../openapi/document.ts'
import { refusalFields, successFields } from '../openapi/envelopes.ts'
import type { OperationName } from '../openapi/operation.ts'
import { type Mask, maskOf } from './mask.ts'

/** What the log needs of a route. */
export type RouteMasks = {
  query: Mask
  /** Of the JSON, and of the text fields of a form. */
  body: Mask
  /** Of the response with a status; `field` is what a refusal is about. */
  response: (status: number, value: unknown, field: string | undefined) => unknown
}

/** Makes the masks of a route. */
export function masksOfRoute(row: RouteRow): RouteMasks {
  const { method, path, query, body, form, envelope } = row
  const name: OperationName = `${method} ${path as `/${string}`}`
  const successes = Object.entries(operations[name]?.successes ?? {}).map(
    ([code, success]) => [Number(code), maskOf(successFields(row, Number(code), success))] as const,
  )
  const successMasks = new Map<number, Mask>(successes)
  const bodySchema = form?.check.schema ?? body?.schema
  const refusal = maskOfRefusal(maskOf(refusalFields(envelope)), knownFields(row))
  return {
    query: maskOf(query.schema),
    body: bodySchema === undefined ? dropped : maskOf(bodySchema),
    response: (status, value, field) =>
      status < 400 ? (successMasks.get(status) ?? dropped)(value) : refusal(value, field),
  }
}

const dropped: Mask = () => undefined

/**
 * Refusals are in our own words, but for the name of a field that a client chose. So the message is kept where it names none
 * or one that the route knows.
 */
function maskOfRefusal(mask: Mask, known: ReadonlySet<string>) {
  return (value: unknown, field: string | undefined): unknown => {
    const masked = mask(value)
    if (typeof value !== 'object' || value === null) return masked
    if (field !== undefined && !known.has(field.replaceAll(/\[\d+\]/g, ''))) return masked
    const { message, missing, field: shown, doc_url } = value as Record<string, unknown>
    const words = Object.entries({ message, missing, field: shown, doc_url })
    return {
      ...(masked as object),
      ...Object.fromEntries(words.filter(([, text]) => text !== undefined)),
    }
  }
}

/** The fields that a refusal of a route may name: paths without the numbers of items. */
function knownFields({ query, body, form }: RouteRow): Set<string> {
  const schemas = [query.schema, body?.schema, form?.check.schema]
  const paths = schemas.flatMap((schema) => (schema === undefined ? [] : pathsIn(schema, '')))
  return new Set([...headerNames, 'The body', 'A field name', ...paths, ...(form?.files ?? [])])
}

type Node = { properties?: Record<string, TSchema>; items?: TSchema; anyOf?: TSchema[] }

function pathsIn(schema: TSchema, path: string): string[] {
  const { properties = {}, items, anyOf = [] } = schema as Node
  const inner = [...anyOf, ...(items === undefined ? [] : [items])]
  return [
    ...Object.entries(properties).flatMap(([name, child]) => {
      const childPath = path === '' ? name : `${path}.${name}`
      return [childPath, ...pathsIn(child, childPath)]
    }),
    ...inner.flatMap((one) => pathsIn(one, path)),
  ]
}
