// Compares an answer with the shape that a rule demands and describes each difference.

/** A demand on one value, in words. */
class Demand {
  readonly words: string
  readonly holds: (value: unknown) => boolean

  constructor(words: string, holds: (value: unknown) => boolean) {
    this.words = words
    this.holds = holds
  }
}

/** Values, patterns, demands, and objects and lists of these. Fields beside those of an object are allowed. */
export type Shape = unknown

const marker = Symbol('exactly')

/** The object, with no field beside these. */
export function exactly(fields: Record<string, Shape>): Shape {
  return { [marker]: true, ...fields }
}

const demandOf = (words: string, pattern: RegExp) =>
  new Demand(words, (value) => typeof value === 'string' && pattern.test(value))

export const aText = demandOf('a text', /./s)
export const anId = demandOf('an opaque id', /^\S{8,}$/)
export const aUuid = demandOf('a UUID', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i)
export const isoTime = demandOf(
  'ISO 8601 in UTC with milliseconds',
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
)
export const dateTime = demandOf('YYYY-MM-DD HH:mm:ss', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
export const aDate = demandOf('YYYY-MM-DD', /^\d{4}-\d\d-\d\d$/)
export const twoDecimals = demandOf('an amount with two decimals', /^(0|[1-9]\d*)\.\d\d$/)
export const aRate = demandOf('a decimal with at least four decimals', /^\d+\.\d{4,}$/)
export const anObject = new Demand(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)
export const absent = new Demand('absent', (value) => value === undefined)

/** One of several values. */
export function oneOf(...values: unknown[]): Demand {
  return new Demand(`one of ${values.map(shown).join(', ')}`, (value) => values.includes(value))
}

/** A text with this part, in any case. */
export function holding(part: string): Demand {
  const wanted = part.toLowerCase()
  return new Demand(
    `a text with "${part}"`,
    (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
  )
}

/** Every difference, in words; none when the value is as demanded. */
export function differences(value: unknown, shape: Shape, path = ''): string[] {
  const where = path === '' ? 'the body' : path
  const differs = (wanted: string) => [`${where} is ${shown(value)}, not ${wanted}`]
  if (shape instanceof Demand) return shape.holds(value) ? [] : differs(shape.words)
  if (shape instanceof RegExp) {
    return typeof value === 'string' && shape.test(value) ? [] : differs(`like ${String(shape)}`)
  }
  if (Array.isArray(shape)) return differentItems(value, shape, where, differs)
  if (typeof shape !== 'object' || shape === null) {
    return Object.is(value, shape) ? [] : differs(shown(shape))
  }
  if (!anObject.holds(value)) return differs('an object')
  return differentFields(value as Record<string, unknown>, shape, path, where)
}

function differentItems(
  value: unknown,
  shape: Shape[],
  where: string,
  differs: (wanted: string) => string[],
): string[] {
  if (!Array.isArray(value) || value.length !== shape.length) {
    return differs(`a list of ${shape.length}`)
  }
  return shape.flatMap((one, index) => differences(value[index], one, `${where}[${index}]`))
}

function differentFields(
  value: Record<string, unknown>,
  shape: object,
  path: string,
  where: string,
): string[] {
  const found = Object.entries(shape).flatMap(([name, inner]) =>
    differences(value[name], inner, path === '' ? name : `${path}.${name}`),
  )
  if (!(marker in shape)) return found
  const more = Object.keys(value).filter((name) => !(name in shape))
  return more.length === 0 ? found : [...found, `${where} also has ${more.join(', ')}`]
}

const maxShown = 120

function shown(value: unknown): string {
  if (value === undefined) return 'absent'
  const text = JSON.stringify(value) ?? typeof value
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
