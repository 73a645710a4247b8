// Parses the headers that name media types and encodings, in time linear in their length.

/** A longer Content-Type is refused; only this much of a longer list is read. */
const maxTypeLength = 256
const maxListLength = 2_048

const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/

/** Whether a `Content-Type` begins with a type and a subtype (RFC 9110, section 8.3.1). */
export function isMediaType(text: string): boolean {
  return mediaType.test(text)
}

/** Whether a `Content-Type` is JSON in UTF-8: no parameter but one `charset`. */
export function isJsonType(text: string): boolean {
  if (text.length > maxTypeLength) return false
  const [type = '', ...parameters] = text.toLowerCase().split(';')
  // A semicolon at the end announces a parameter that does not come.
  if (parameters.at(-1)?.trim() === '') parameters.pop()
  if (type.trimEnd() !== 'application/json' || parameters.length > 1) return false
  return parameters.every(isUtf8)
}

function isUtf8(parameter: string): boolean {
  const [name = '', ...values] = parameter.split('=')
  if (name.trim() !== 'charset') return false
  const value = values.join('=').trim()
  return value === 'utf-8' || value === '"utf-8"'
}

const jsonRanges = new Set(['*/*', 'application/*', 'application/json'])

/** Whether an `Accept` allows JSON. Ignores weights. */
export function acceptsJson(text: string): boolean {
  return elementsOf(text).some(([range]) => jsonRanges.has(range ?? ''))
}

/** Whether an `Accept-Encoding` names gzip with a weight above zero. */
export function acceptsGzip(text: string): boolean {
  return elementsOf(text).some(
    ([coding, weight]) => coding === 'gzip' && !/^q=0(\.0{0,3})?$/.test(weight ?? ''),
  )
}

/** The elements of a list, each with its parameters, in small letters and without blanks around them. */
function elementsOf(text: string): string[][] {
  const list = text.slice(0, maxListLength).toLowerCase()
  return list.split(',').map((element) => element.split(';').map((part) => part.trim()))
}
