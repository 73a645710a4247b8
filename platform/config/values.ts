// Parses the text of a setting into its value, strictly: numbers, addresses, paths, and the settings that are JSON.
import ipaddr from 'ipaddr.js'
import { isCurrency, parseAmount } from '#core/money/money.ts'
import { type ContractVersion, contractVersions } from '#core/text/contract-version.ts'
import { serverUrls } from '../db/server-urls.ts'

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

/** A line of text that is printed as it is. */
export const plainText: Reader<string> = {
  of: 'text',
  read: (text) =>
    /^[\x20-\x7e]{1,200}$/.test(text) ? text : fail('must be a line of printable ASCII'),
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
  of: 'http(s)://host[:port], comma-separated',
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

/** A PostgreSQL URL, which may name several servers. */
export const databaseUrl: Reader<string> = {
  of: 'postgres:// URL, its hosts comma-separated',
  read: (text) => {
    try {
      serverUrls(text)
    } catch {
      fail('must be a postgres:// URL; its target_session_attrs may be primary or read-write')
    }
    return text
  },
}

/** One NATS URL or several, comma-separated. */
export const natsUrl: Reader<string> = {
  of: 'nats:// or tls:// URLs, comma-separated',
  read(text) {
    for (const part of text.split(',')) parseUrl(part, ['nats:', 'tls:'])
    return text
  },
}

/** Networks in CIDR form by commas; empty for none. */
export const networks: Reader<readonly string[]> = {
  of: 'CIDRs, comma-separated',
  read(text) {
    const list = text === '' ? [] : text.split(',').map((item) => item.trim())
    for (const item of list) {
      if (!isCidr(item)) fail('must be networks such as 10.0.0.0/8, comma-separated')
    }
    return list
  },
}

/** Reads waits in whole seconds, separated by commas: at most 50, each at most `maxS`. */
export function schedule(maxS: number): Reader<readonly number[]> {
  const wait = integer(1, maxS)
  return {
    of: `up to 50 waits in s, comma-separated, each 1 to ${maxS}`,
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

/** Parses JSON. Throws an Error for another text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return fail('must be JSON')
  }
}

/**
 * Returns an object with exactly these fields: a misspelt one would otherwise switch a rule off silently. Throws an Error for
 * another value.
 */
function fieldsOf(value: unknown, name: string, fields: string[]): Record<string, unknown> {
  const record = recordOf(value, name)
  const given = Object.keys(record).toSorted().join(', ')
  const wanted = fields.toSorted().join(', ')
  return given === wanted ? record : fail(`${name} must have exactly the fields ${wanted}`)
}

/** Returns an amount in minor units. Throws an Error for a value that is not a valid amount of the currency. */
function amountOf(value: unknown, name: string, currency: string): bigint {
  if (typeof value === 'string') {
    try {
      return parseAmount(value, currency)
    } catch {
      // Reported below, without the value.
    }
  }
  return fail(`${name} must be an amount of its currency as a string`)
}

/** Returns amounts in minor units by ISO 4217 code. Throws an Error for another value. */
function amountsByCurrency(value: unknown, name: string): Record<string, bigint> {
  return Object.fromEntries(
    Object.entries(recordOf(value, name)).map(([currency, amount]) => {
      if (!isCurrency(currency)) fail(`${name} must be named by ISO 4217 codes`)
      return [currency, amountOf(amount, `${name}.${currency}`, currency)]
    }),
  )
}

/** Returns an object. Throws an Error for another value. */
export function recordOf(value: unknown, name: string): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : fail(`${name} must be an object`)
}

/** Percentages of an amount as decimal text ("2.90" is 2.90 %), per part of the fee. */
export type FeeSchedule = {
  cardProcessingPercent: string
  platformProcessingPercent: string
  agentProcessingPercent: string
  conveniencePercent: string
}

/** The rules that stop a new payment request. */
export type FraudRules = {
  /** Requests a minute that may name one payer, the new one included. */
  velocityPerMin: number
  /** Maximum amount per currency; a currency that is not here has none. */
  ceilingsMinor: Readonly<Record<string, bigint>>
  /** E.164 with plus sign. */
  blockedMobileNumbers: readonly string[]
}

export type LevelLimits = { singleMinor: bigint; dailyMinor: bigint; monthlyMinor: bigint }

export type UserLimits = {
  /** Currency of every limit; amounts in others are converted. */
  currency: string
  /** The limits of account levels 0, 1 and 2. */
  levels: readonly [LevelLimits, LevelLimits, LevelLimits]
}

export const feeSchedule: Reader<FeeSchedule> = {
  of: 'JSON: percent by part',
  read(text) {
    const fees = fieldsOf(parseJson(text), 'the value', [
      'card_processing',
      'platform_processing',
      'agent_processing',
      'convenience',
    ])
    return {
      cardProcessingPercent: percentOf(fees, 'card_processing'),
      platformProcessingPercent: percentOf(fees, 'platform_processing'),
      agentProcessingPercent: percentOf(fees, 'agent_processing'),
      conveniencePercent: percentOf(fees, 'convenience'),
    }
  },
}

export const fraudRules: Reader<FraudRules> = {
  of: 'JSON: velocity, ceilings, block list',
  read(text) {
    const rules = fieldsOf(parseJson(text), 'the value', [
      'velocity_per_min',
      'ceilings',
      'blocked_mobile_numbers',
    ])
    const velocity = rules['velocity_per_min']
    if (!Number.isInteger(velocity) || Number(velocity) < 1) {
      fail('velocity_per_min must be a whole number above zero')
    }
    const blocked = rules['blocked_mobile_numbers']
    if (!Array.isArray(blocked) || !blocked.every(isE164)) {
      fail('blocked_mobile_numbers must be a list of numbers in E.164 with plus sign')
    }
    return {
      velocityPerMin: Number(velocity),
      ceilingsMinor: amountsByCurrency(rules['ceilings'], 'ceilings'),
      blockedMobileNumbers: blocked,
    }
  },
}

export const userLimits: Reader<UserLimits> = {
  of: 'JSON: currency, limits by level',
  read(text) {
    const limits = fieldsOf(parseJson(text), 'the value', ['currency', 'levels'])
    const currency = limits['currency']
    if (typeof currency !== 'string' || !isCurrency(currency))
      fail('currency must be an ISO 4217 code')
    const levels = fieldsOf(limits['levels'], 'levels', ['0', '1', '2'])
    const level = (name: string): LevelLimits => levelOf(levels[name], `levels.${name}`, currency)
    return { currency, levels: [level('0'), level('1'), level('2')] }
  },
}

/** Amounts in minor units by currency. A currency that is not listed has none. */
export type AmountsByCurrency = Readonly<Record<string, bigint>>

export const amounts: Reader<AmountsByCurrency> = {
  of: 'JSON: amount by currency',
  read: (text) => amountsByCurrency(parseJson(text), 'the value'),
}

function levelOf(value: unknown, name: string, currency: string): LevelLimits {
  const level = fieldsOf(value, name, ['single', 'daily', 'monthly'])
  const limits = {
    singleMinor: amountOf(level['single'], `${name}.single`, currency),
    dailyMinor: amountOf(level['daily'], `${name}.daily`, currency),
    monthlyMinor: amountOf(level['monthly'], `${name}.monthly`, currency),
  }
  if (limits.singleMinor > limits.dailyMinor || limits.dailyMinor > limits.monthlyMinor) {
    fail(`${name} must not fall from single to daily to monthly`)
  }
  return limits
}

function isE164(value: unknown): value is string {
  return typeof value === 'string' && /^\+[1-9]\d{4,14}$/.test(value)
}

function percentOf(fees: Record<string, unknown>, name: string): string {
  const text = fees[name]
  const isPercent = typeof text === 'string' && /^(\d|[1-9]\d)(\.\d{1,4})?$/.test(text)
  return isPercent
    ? text
    : fail(`${name} must be a percentage below 100 as a string, such as "2.90"`)
}

/** When a version is deprecated, when it ends, and where both are explained. */
export type VersionNotice = { deprecation: Date; sunset?: Date; link?: string }

/** Notices by version; most have none. */
export type VersionNotices = Partial<Record<ContractVersion, VersionNotice>>

export const versionNotices: Reader<VersionNotices> = {
  of: 'JSON: deprecation, sunset, link by version',
  read(text) {
    const given = Object.entries(recordOf(parseJson(text), 'the value'))
    const notices: VersionNotices = {}
    for (const [name, value] of given) {
      const version = contractVersions.find((known) => known === name)
      if (version === undefined) fail(`versions are ${contractVersions.join(', ')}`)
      else notices[version] = noticeOf(recordOf(value, version), version)
    }
    return notices
  },
}

function noticeOf(fields: Record<string, unknown>, version: string): VersionNotice {
  const { deprecation, sunset, link, ...others } = fields
  if (Object.keys(others).length > 0) fail(`${version} takes deprecation, sunset and link alone`)
  const notice: VersionNotice = { deprecation: momentOf(deprecation, `${version}.deprecation`) }
  if (sunset !== undefined) notice.sunset = momentOf(sunset, `${version}.sunset`)
  if (notice.sunset !== undefined && notice.sunset < notice.deprecation) {
    fail(`${version}.sunset must not be before its deprecation`)
  }
  if (link !== undefined) notice.link = linkOf(link, `${version}.link`)
  return notice
}

function momentOf(value: unknown, name: string): Date {
  const isForm = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(value)
  const moment = new Date(isForm ? value : Number.NaN)
  const isReal =
    !Number.isNaN(moment.getTime()) && `${moment.toISOString().slice(0, 19)}Z` === value
  return isReal ? moment : fail(`${name} must be a time such as 2027-07-01T00:00:00Z`)
}

function linkOf(value: unknown, name: string): string {
  const isLink =
    typeof value === 'string' && /^https:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]+$/.test(value)
  return isLink ? value : fail(`${name} must be an https URL`)
}
