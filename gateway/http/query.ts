// Step 8 of the edge: the query parameters of a route.
import type { Static, TObject } from 'typebox'
import { Failure } from '#core/errors/errors.ts'
import type { ContractVersion } from '#core/text/contract-version.ts'
import { compileCheck, invalidField, shownName } from './validate.ts'

/** Returns the parameters or throws MISSING_PARAMETER, VERSION_NOT_SUPPORTED or INVALID_PARAMETER. */
export type QueryCheck<T> = ((query: Record<string, unknown>) => T) & {
  /** What it checks against, for the documents. */
  schema: TObject
}

/** Compiles the query of a route; the order of the fields is the order in which missing ones are named. */
export function compileQuery<S extends TObject>(
  schema: S,
  version: ContractVersion,
): QueryCheck<Static<S>> {
  const check = compileCheck(schema)
  const names = Object.keys(schema.properties)
  const required = new Set((schema as { required?: string[] }).required)
  const checkQuery = (query: Record<string, unknown>): Static<S> => {
    const missing = names.filter((name) => required.has(name) && isAbsent(query[name]))
    if (missing.length > 0) throw missingParameters(missing)
    const repeated = Object.keys(query).find((name) => Array.isArray(query[name]))
    if (repeated !== undefined) throw invalidField(shownName(repeated), 'must be given once')
    if (query['version'] !== version) {
      throw new Failure('VERSION_NOT_SUPPORTED', `version must be exactly ${version}.`)
    }
    return check(withoutEmpty(query, names), false)
  }
  return Object.assign(checkQuery, { schema })
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === ''
}

function missingParameters(missing: string[]): Failure {
  return new Failure('MISSING_PARAMETER', `Missing query parameters: ${missing.join(', ')}.`, {
    details: { missing: missing.join(',') },
  })
}

// An empty parameter counts as missing; unknown ones are ignored, but their texts are searched too.
function withoutEmpty(query: Record<string, unknown>, names: string[]): Record<string, unknown> {
  const given: Record<string, unknown> = { ...query }
  for (const name of names) if (given[name] === '') delete given[name]
  return given
}
