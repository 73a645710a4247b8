// The three settings that are JSON: fees, fraud rules, user limits.
import { isCurrency, parseAmount } from '#core/money/money.ts'
import { fail, type Reader } from './values.ts'

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
      ceilingsMinor: ceilingsOf(rules['ceilings']),
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

function ceilingsOf(value: unknown): Record<string, bigint> {
  if (!isRecord(value)) return fail('ceilings must be an object')
  return Object.fromEntries(
    Object.entries(value).map(([currency, amount]) => {
      if (!isCurrency(currency)) fail('ceilings must be named by ISO 4217 codes')
      return [currency, amountOf(amount, `ceilings.${currency}`, currency)]
    }),
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return fail('must be JSON')
  }
}

/** Returns an object with exactly these fields: a misspelt one would otherwise switch a rule off silently. */
function fieldsOf(value: unknown, name: string, fields: string[]): Record<string, unknown> {
  if (!isRecord(value)) return fail(`${name} must be an object`)
  const given = Object.keys(value).toSorted().join(', ')
  const wanted = fields.toSorted().join(', ')
  return given === wanted ? value : fail(`${name} must have exactly the fields ${wanted}`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isE164(value: unknown): value is string {
  return typeof value === 'string' && /^\+[1-9]\d{6,14}$/.test(value)
}

function percentOf(fees: Record<string, unknown>, name: string): string {
  const text = fees[name]
  const isPercent = typeof text === 'string' && /^(\d|[1-9]\d)(\.\d{1,4})?$/.test(text)
  return isPercent
    ? text
    : fail(`${name} must be a percentage below 100 as a string, such as "2.90"`)
}

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
