// The allow-list of log fields, and the test that each value must pass.

/**
 * Field names by the shape of their values. A name that is not here is dropped, so a phone number, a name, a
 * token, a key, a URL query or a body has no field to travel in.
 */
const logFields = {
  // A UUID, a W3C trace or span id, or a short name.
  requestId: 'id',
  traceId: 'id',
  spanId: 'id',
  projectId: 'id',
  paymentId: 'id',
  payerId: 'id',
  payeeId: 'id',
  refundId: 'id',
  payoutId: 'id',
  merchantId: 'id',
  institutionId: 'id',
  keyId: 'id',
  accountId: 'id',
  sessionId: 'id',
  challengeId: 'id',
  transferId: 'id',
  holdId: 'id',
  transactionId: 'id',
  quoteId: 'id',
  billPaymentId: 'id',
  billerId: 'id',
  eventId: 'id',
  deliveryId: 'id',
  endpointId: 'id',
  replayId: 'id',
  // Names from the code: states, reasons, routes, RPCs, subjects, files.
  part: 'word',
  service: 'word',
  caller: 'word',
  audience: 'word',
  method: 'word',
  route: 'word',
  rpc: 'word',
  reason: 'word',
  code: 'word',
  state: 'word',
  fromState: 'word',
  toState: 'word',
  kind: 'word',
  outcome: 'word',
  subject: 'word',
  stream: 'word',
  durable: 'word',
  consumer: 'word',
  connector: 'word',
  schema: 'word',
  migration: 'word',
  setting: 'word',
  signal: 'word',
  step: 'word',
  environment: 'word',
  version: 'word',
  // Scheme, host and port; never a path or a query.
  origin: 'origin',
  address: 'origin',
  // Counts, sizes, durations, codes.
  status: 'number',
  port: 'number',
  adminPort: 'number',
  pid: 'number',
  exitCode: 'number',
  attempt: 'number',
  attempts: 'number',
  round: 'number',
  count: 'number',
  leftOut: 'number',
  rows: 'number',
  failed: 'number',
  waiting: 'number',
  sequence: 'number',
  bytes: 'number',
  durationMs: 'number',
  delayMs: 'number',
  lagMs: 'number',
  timeoutMs: 'number',
  uptimeS: 'number',
  delayS: 'number',
  // Booleans.
  ready: 'flag',
  replayed: 'flag',
  forced: 'flag',
  open: 'flag',
} as const satisfies Record<string, Shape>

type Shape = 'id' | 'word' | 'origin' | 'number' | 'flag'

/** Facts of one line. `err` takes any thrown value. */
export type LogFields = { [Name in keyof typeof logFields]?: LogValue | undefined } & {
  err?: unknown
}

export type LogValue = string | number | boolean

const idPattern =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{32}|[A-Za-z][A-Za-z0-9_-]{0,23})$/
const wordPattern = /^[A-Za-z0-9_.,:/*{}<>-]{1,120}$/
const originPattern =
  /^(https?:\/\/)?[A-Za-z0-9.-]{1,120}(:\d{1,5})?$|^(https?:\/\/)?\[[0-9a-f:]{2,45}\](:\d{1,5})?$/
const maxNumber = 1e9

const shapes: Record<Shape, (value: unknown) => boolean> = {
  id: (value) => typeof value === 'string' && idPattern.test(value) && !isNumberLike(value),
  word: (value) => typeof value === 'string' && (knownWords.has(value) || isWord(value)),
  origin: (value) => typeof value === 'string' && originPattern.test(value) && !isSecretLike(value),
  number: (value) => typeof value === 'number' && Math.abs(value) < maxNumber,
  flag: (value) => typeof value === 'boolean',
}

/** Whether a value has the form of a word or an origin, and looks like no secret, so that it may be logged. */
export function fits(shape: 'word' | 'origin', value: unknown): value is string {
  return shapes[shape](value)
}

// Words are routes, methods and reasons in the code. There are few, so each is checked once and remembered.
const knownWords = new Set<string>()
const maxKnownWords = 1_000

function isWord(text: string): boolean {
  if (!wordPattern.test(text) || isSecretLike(text)) return false
  if (knownWords.size < maxKnownWords) knownWords.add(text)
  return true
}

/**
 * Keeps the listed fields whose values have their form. `droppedFields` has the number of the others, never their
 * names.
 */
export function allowedFields(fields: object): Record<string, LogValue> {
  const kept: Record<string, LogValue> = {}
  let dropped = 0
  for (const name of Object.keys(fields)) {
    const value: unknown = (fields as Record<string, unknown>)[name]
    if (value === undefined || name === 'err') continue
    if (isFieldName(name) && shapes[logFields[name]](value)) kept[name] = value as LogValue
    else dropped += 1
  }
  if (dropped > 0) kept['droppedFields'] = dropped
  return kept
}

/** Removes long numbers, keys, tokens, addresses and URL queries from a sentence, and cuts it to 300 characters. */
export function scrub(text: string): string {
  return text
    .slice(0, 300)
    .replace(/\?\S*/g, '?')
    .replace(/\S+@\S+/g, '[address]')
    .replace(/[A-Za-z0-9_+/=.-]{12,}/g, (run) => (isSecretLike(run) ? '[removed]' : run))
    .replace(/\+?\d[\d\s().-]{5,}\d/g, (run, at: number, whole: string) =>
      isInsideId(whole, at) ? run : '[removed]',
    )
}

function isFieldName(name: string): name is keyof typeof logFields {
  return Object.hasOwn(logFields, name)
}

const uuidPattern = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

function isInsideId(text: string, at: number): boolean {
  return [...text.matchAll(uuidPattern)].some(
    (match) => at >= match.index && at < match.index + match[0].length,
  )
}

function isNumberLike(text: string): boolean {
  return /^\+?\d{7,}$/.test(text)
}

/** A phone number, or a run of characters that looks drawn at random. */
function isSecretLike(text: string): boolean {
  return text
    .replace(uuidPattern, '')
    .split(/[/.:,]/)
    .some(isSecretPart)
}

function isSecretPart(part: string): boolean {
  if (/\d{7,}/.test(part) || part.length > 48) return true
  if (/^pw[a-z]+_(.*\d|.{20})/.test(part) || /[0-9a-f]{24,}/.test(part)) return true
  return part.length > 20 && /[a-z]/.test(part) && /[A-Z]/.test(part) && /\d/.test(part)
}
