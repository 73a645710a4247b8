// Parses the text of a setting into its value, strictly.
import ipaddr from 'ipaddr.js'

/** How a setting is read. */
export type Reader<T> = {
  /** What the setting takes, for its documentation. */
  of: string
  /** Parses the text. Throws an Error whose message reads on from the setting's name and never quotes the value. */
  read(text: string): T
}

/** Throws an Error that says what is wrong with a setting. `problem` never quotes the value, which may be secret. */
export function fail(problem: string): never {
  throw new Error(problem)
}

/** Reads a whole number within bounds, both included, written in digits only. */
export function integer(min: number, max: number): Reader<number> {
  return {
    of: `whole number, ${min} to ${max}`,
    read(text) {
      const value = /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : fail(`must be a whole number, ${min} to ${max}`)
    },
  }
}

/** Reads one of some words. */
export function oneOf<const T extends string>(words: readonly T[]): Reader<T> {
  return {
    of: words.join(', '),
    read: (text) =>
      words.find((word) => word === text) ?? fail(`must be one of ${words.join(', ')}`),
  }
}

/** Which traces are recorded, by the names of OpenTelemetry. */
export const sampler = oneOf([
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
])

/** A share from 0 to 1. */
export const ratio: Reader<number> = {
  of: 'number, 0 to 1',
  read: (text) =>
    /^(0(\.\d{1,9})?|1(\.0{1,9})?)$/.test(text) ? Number(text) : fail('must be a number, 0 to 1'),
}

/** 0 or 1. */
export const flag: Reader<boolean> = {
  of: '0 or 1',
  read: (text) => (text === '1' ? true : text === '0' ? false : fail('must be 0 or 1')),
}

/** Any text without control characters. */
export const path: Reader<string> = {
  of: 'path',
  read: (text) => (/^[^\p{Cc}]{1,4096}$/u.test(text) ? text : fail('must be a path')),
}

/** A host name or address to listen on. */
export const host: Reader<string> = {
  of: 'host name or address',
  read: (text) =>
    /^[A-Za-z0-9.:-]{1,253}$/.test(text) ? text : fail('must be a host name or address'),
}

/** An http(s) URL of scheme, host and port only; read without a slash at its end. */
const origin: Reader<string> = {
  of: 'http(s)://host[:port]',
  read(text) {
    const url = parseUrl(text, ['http:', 'https:'])
    const isBare = url.pathname === '/' && url.search === '' && url.hash === ''
    return isBare && url.username === '' ? url.origin : fail('must be scheme, host and port only')
  },
}

/** Origins of one service, of one scheme; a name stands for all of its addresses. */
export const origins: Reader<string> = {
  of: 'http(s)://host[:port], by commas',
  read(text) {
    const all = text.split(',').map((one) => origin.read(one.trim()))
    const schemes = new Set(all.map((one) => new URL(one).protocol))
    return schemes.size === 1 ? all.join(',') : fail('must be of one scheme')
  },
}

/** An http(s) URL that may have a path; read without a slash at its end. */
export const baseUrl: Reader<string> = {
  of: 'http(s) URL',
  read(text) {
    const url = parseUrl(text, ['http:', 'https:'])
    const isBase = url.search === '' && url.hash === '' && url.username === ''
    return isBase ? url.href.replace(/\/$/, '') : fail('must have no user, query or fragment')
  },
}

/** A PostgreSQL URL. */
export const databaseUrl: Reader<string> = {
  of: 'postgres:// URL',
  read: (text) => {
    parseUrl(text, ['postgres:', 'postgresql:'])
    return text
  },
}

/** One NATS URL or several, by commas. */
export const natsUrl: Reader<string> = {
  of: 'nats:// or tls:// URLs, by commas',
  read(text) {
    for (const part of text.split(',')) parseUrl(part, ['nats:', 'tls:'])
    return text
  },
}

/** Networks in CIDR form by commas; empty for none. */
export const networks: Reader<readonly string[]> = {
  of: 'CIDRs, by commas',
  read(text) {
    const list = text === '' ? [] : text.split(',').map((item) => item.trim())
    for (const item of list) {
      if (!isCidr(item)) fail('must be networks such as 10.0.0.0/8, by commas')
    }
    return list
  },
}

/** Reads waits in whole seconds, separated by commas: at most 50, each at most `maxS`. */
export function schedule(maxS: number): Reader<readonly number[]> {
  const wait = integer(1, maxS)
  return {
    of: `up to 50 waits in s, by commas, each 1 to ${maxS}`,
    read(text) {
      const waits = text.split(',')
      if (waits.length > 50) fail('must have at most 50 waits')
      return waits.map((item) => wait.read(item.trim()))
    },
  }
}

/** Makes a reader whose empty text means "not set". */
export function optional<T>({ of, read }: Reader<T>): Reader<T | undefined> {
  return { of: `${of}; or unset`, read: (text) => (text === '' ? undefined : read(text)) }
}

function parseUrl(text: string, protocols: string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : fail(`must be a ${protocols.join(' or ')} URL`)
  if (!protocols.includes(url.protocol) || url.hostname === '') {
    fail(`must be a ${protocols.join(' or ')} URL`)
  }
  return url
}

/**
 * Whether a text is a network in CIDR form. The form is checked before the parser, which alone would accept `10.1/8`
 * and `0x7f.0.0.1/8`: texts that other programs read as other networks.
 */
function isCidr(text: string): boolean {
  if (!/^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f:]*:[0-9a-f:.]*)\/\d{1,3}$/i.test(text)) return false
  try {
    ipaddr.parseCIDR(text)
    return true
  } catch {
    return false
  }
}
