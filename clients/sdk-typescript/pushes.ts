// Reads pushes about payments, and verifies the signed callbacks of onboardings and registrations.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { openValue, type SealingKey } from './seal.ts'
import type { Notify, OnboardingCallback, PaymentCallback } from './types/pushes.ts'

/** Far more than a push has. */
const maxBodyBytes = 65_536

/** Why a request is not to be trusted as a push: answer it with 401 or 400. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
}

/** A request as your server received it. */
export type ReceivedRequest = {
  /** A `Headers`, or an object such as `request.headers` of Node.js. */
  headers: Headers | Record<string, string | string[] | undefined>
  /** The body exactly as it arrived, before any parser. */
  rawBody: string | Uint8Array
}

/** What every push has. */
export type PushIds = {
  /** Identifies a repeat of this push, not of the payment: several pushes can report one payment, so ship by the state of the order. */
  deliveryId: string
  /** 1, 2, … */
  attempt: number
  /** Pushes of one event to several URLs share it. */
  eventId: string
}

/** A push about a payment. Amounts of a notify, which are JSON numbers, are strings here. */
export type Push = PushIds & {
  paymentDetailsId: string
  /** Your own id of the payment request. */
  transactionId: string
} & ({ kind: 'notify'; body: Notify } | { kind: 'callback'; body: PaymentCallback })

/**
 * Reads a push about a payment. It has no signature, so treat it as a hint: `payments.confirmPush` also reads the state
 * that counts. Throws a WebhookError for what has not the form of a push, and for a body of more than 64 KiB.
 */
export function readPush(request: ReceivedRequest): Push {
  const ids = {
    ...idsOf(request),
    paymentDetailsId: headerOf(request, 'PW-payment-details-id'),
  }
  const body = parse(withExactAmounts(textOf(request.rawBody)))
  const isNotify = typeof body['event_type'] === 'string'
  const { id } = (body['transaction_request'] ?? {}) as { id?: unknown }
  const transactionId = isNotify ? body['transaction_id'] : id
  if (typeof transactionId !== 'string') {
    throw new WebhookError('the body is not a push about a payment')
  }
  const common = { ...ids, transactionId }
  return isNotify
    ? { ...common, kind: 'notify', body: body as Notify }
    : { ...common, kind: 'callback', body: body as PaymentCallback }
}

/** The end of an onboarding or of a registration, proven genuine. */
export type SignedCallback = PushIds & { body: OnboardingCallback }

/**
 * Finds the `authorisation_token` that you sent in the call that the body names by its `request_id`; undefined when there was
 * no such call. It gets a body whose signature is genuine.
 */
export type FindToken = (
  body: OnboardingCallback,
) => string | undefined | Promise<string | undefined>

/** What a signed callback is verified with. */
export type VerifyOptions<Token = string> = ReceivedRequest & {
  /** Signing secrets of the institution, none of them empty; two while one replaces the other. */
  signingSecrets: readonly string[]
  /** Shared keys of the institution, which open `authorisation-token`. */
  keys: readonly SealingKey[]
  /** The `authorisation_token` that you sent when you created or registered the account, or a function that finds it. */
  authorisationToken: Token
  /** How far the time of the signature may be from yours, in seconds; default 300. */
  toleranceS?: number
  /** The current time in milliseconds since 1970; default: the clock. */
  nowMs?: number
}

/**
 * Returns the callback of an onboarding or registration, once it is proven genuine; a promise of it when `authorisationToken`
 * is a function. Throws, or rejects with, a WebhookError when a header is missing or malformed, the signature is too old or
 * made with none of the secrets, or the token is not yours; and a TypeError when `signingSecrets` is no list or has an empty
 * secret.
 */
export function verifyOnboardingCallback(options: VerifyOptions): SignedCallback
export function verifyOnboardingCallback(options: VerifyOptions<FindToken>): Promise<SignedCallback>
export function verifyOnboardingCallback(
  options: VerifyOptions<string | FindToken>,
): SignedCallback | Promise<SignedCallback> {
  const { authorisationToken } = options
  if (typeof authorisationToken !== 'function') {
    return withToken(openCallback(options), authorisationToken)
  }
  return (async () => {
    const opened = openCallback(options)
    return withToken(opened, await authorisationToken(opened.callback.body))
  })()
}

type OpenedCallback = { callback: SignedCallback; token: string }

function openCallback(options: VerifyOptions<unknown>): OpenedCallback {
  const { rawBody, signingSecrets, keys, nowMs = Date.now() } = options
  const header = headerOf(options, 'pw-signature')
  const isSigned = verifySignature(header, rawBody, {
    signingSecrets,
    toleranceS: options.toleranceS ?? 300,
    nowS: Math.floor(nowMs / 1_000),
  })
  if (!isSigned) {
    throw new WebhookError('the signature is malformed, too old, or matches none of the secrets')
  }
  let token: string
  try {
    token = openValue(headerOf(options, 'authorisation-token'), keys, 'authorisation-token')
  } catch (cause) {
    throw new WebhookError('authorisation-token cannot be decrypted with the given keys', { cause })
  }
  const body = parse(textOf(rawBody)) as OnboardingCallback
  return { callback: { ...idsOf(options), body }, token }
}

function withToken({ callback, token }: OpenedCallback, sent: string | undefined): SignedCallback {
  if (typeof sent !== 'string' || !equal(Buffer.from(token), Buffer.from(sent))) {
    throw new WebhookError('the authorisation token is not the one that you sent')
  }
  return callback
}

/** What a signature is verified with. */
export type SignatureOptions = {
  /** Signing secrets of the institution, none of them empty; two while one replaces the other. */
  signingSecrets: readonly string[]
  /** How far the time of the signature may be from yours, in seconds; default 300. */
  toleranceS?: number
  /** The current time in seconds since 1970; default: the clock. */
  nowS?: number
}

/**
 * Returns whether a `pw-signature` was made with one of the secrets over exactly these bytes, within the tolerance. Compares
 * in constant time. A malformed signature is false, not an error. Throws a TypeError when `signingSecrets` is no list or
 * has an empty secret, with which anybody could sign.
 */
export function verifySignature(
  header: string,
  rawBody: string | Uint8Array,
  { signingSecrets, toleranceS = 300, nowS = Math.floor(Date.now() / 1_000) }: SignatureOptions,
): boolean {
  if (!Array.isArray(signingSecrets) || signingSecrets.includes('')) {
    throw new TypeError('signingSecrets must be a list of secrets, none of them empty')
  }
  const [, t = '', offered = ''] = /^t=(\d{1,12})((?:,v1=[0-9a-f]{64}){1,8})$/.exec(header) ?? []
  // A comparison with NaN is false, so this asks for what is in time, not for what is too late.
  const isInTime = Math.abs(nowS - Number(t)) <= toleranceS
  if (t === '' || !isInTime) return false
  const macs = offered.slice(',v1='.length).split(',v1=')
  let isValid = false
  for (const secret of signingSecrets) {
    const expected = createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest()
    for (const mac of macs) isValid = equal(Buffer.from(mac, 'hex'), expected) || isValid
  }
  return isValid
}

function idsOf(request: ReceivedRequest): PushIds {
  const attempt = headerOf(request, 'PW-delivery-attempt')
  if (!/^\d{1,9}$/.test(attempt)) throw new WebhookError('PW-delivery-attempt is not a number')
  return {
    deliveryId: headerOf(request, 'PW-delivery-id'),
    attempt: Number(attempt),
    eventId: headerOf(request, 'PW-event-id'),
  }
}

function headerOf({ headers }: ReceivedRequest, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1]
  if (typeof value !== 'string' || value === '') throw new WebhookError(`${name} is missing`)
  return value
}

/** Amounts as strings: as JSON numbers they would become floats, which are not exact. */
function withExactAmounts(text: string): string {
  // In JSON every text ends, so that the replacement reads each character once.
  parse(text)
  return text.replaceAll(
    /("amount"\s*:\s*)(-?\d+(?:\.\d+)?)|"(?:[^"\\]|\\.)*"/g,
    (found, name?: string, amount?: string) => (name === undefined ? found : `${name}"${amount}"`),
  )
}

function parse(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return body as Record<string, unknown>
  } catch {
    // Answered below.
  }
  throw new WebhookError('the body is not a JSON object')
}

function textOf(rawBody: string | Uint8Array): string {
  if (Buffer.byteLength(rawBody) > maxBodyBytes) {
    throw new WebhookError('the body has more than 64 KiB')
  }
  return typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString()
}

function equal(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
