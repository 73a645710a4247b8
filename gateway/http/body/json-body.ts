// Step 2 of the edge for JSON: parses a body into an object or refuses it.
import { isUtf8 } from 'node:buffer'
import { Failure } from '#core/errors/errors.ts'
import { refusal } from '../envelope.ts'
import { isJsonType } from './media-type.ts'

/** A body that could be read. */
export type JsonBody = {
  fields: Record<string, unknown>
  /** The body certainly has no forbidden character and no infinite number, so checks need not search its values for them. */
  isPlain: boolean
  /** Bytes that it came in. */
  bytes: number
}

const maxDepth = 32
const openingBrace = 0x7b
const openingBracket = 0x5b
// An escape or a control character; a number with an exponent or with many digits. The pattern does not backtrack.
const needsSearch = /[\\\x7f-\x9f]|[:,[\s]-?(?:[\d.]+[eE]|\d{17})/

/** Reads a JSON object. Throws UNSUPPORTED_MEDIA_TYPE or INVALID_JSON. */
export function readJson(
  raw: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
): JsonBody {
  if (contentType !== 'application/json' && !isJsonType(contentType ?? '')) {
    throw refusal('UNSUPPORTED_MEDIA_TYPE')
  }
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    throw refusal('UNSUPPORTED_MEDIA_TYPE')
  }
  if (!isUtf8(raw)) throw new Failure('INVALID_JSON', 'The body is not UTF-8.')
  const text = raw.toString('utf8')
  const fields = parse(text)
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new Failure('INVALID_JSON', 'The body must be a JSON object.')
  }
  // Only a text with many brackets can be nested deeply, so most bodies are not traversed.
  if (countOpenings(text) > maxDepth && !isShallow(fields, maxDepth)) {
    throw new Failure('INVALID_JSON', `The body is nested more than ${maxDepth} levels deep.`)
  }
  const isPlain = !needsSearch.test(text)
  return { fields: fields as Record<string, unknown>, isPlain, bytes: raw.length }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new Failure('INVALID_JSON', 'The body is not valid JSON.')
  }
}

function countOpenings(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === openingBrace || code === openingBracket) count += 1
  }
  return count
}

function isShallow(value: object, levels: number): boolean {
  if (levels === 0) return false
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key]
    if (typeof child === 'object' && child !== null && !isShallow(child, levels - 1)) return false
  }
  return true
}
