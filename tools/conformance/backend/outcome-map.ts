// Reads the file that says which test values make a back end produce each outcome.
import fs from 'node:fs'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { isCurrency } from '#core/money/money.ts'
import { UsageError } from '../../../clients/cli/usage-error.ts'

const text = Type.String({ minLength: 1, maxLength: 200 })
const number = Type.String({ pattern: '^\\+[1-9][0-9]{4,14}$' })
const closed = { additionalProperties: false } as const
const person = Type.Object({ mobile_number: number }, closed)
const wallet = Type.Object({ mobile_number: number, pin: Type.String({ minLength: 4 }) }, closed)
const card = Type.Object(
  { mobile_number: number, fields: Type.Record(Type.String(), Type.String()) },
  closed,
)
const amount = Type.Object({ minor_units: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }) }, closed)
const account = Type.Object({ account_number: text }, closed)
const bill = Type.Object(
  { biller_code: text, product_code: text, customer_reference: text },
  closed,
)

/** Groups of checks whose operations a rail may lack; a back end must be able to take money, or to send it. */
const optionalGroups = [
  'wallets',
  'cards',
  'payouts',
  'transfers',
  'bills',
  'reviews',
  'consents',
  'rates',
] as const

const outcomes = Type.Object(
  {
    'charge.paid': Type.Optional(person),
    'charge.refused': Type.Optional(person),
    'charge.late': Type.Optional(person),
    'wallet.paid': Type.Optional(wallet),
    'wallet.refused': Type.Optional(wallet),
    'wallet.processing': Type.Optional(wallet),
    'wallet.rejected': Type.Optional(wallet),
    'card.form': Type.Optional(person),
    'card.approved': Type.Optional(card),
    'card.declined': Type.Optional(card),
    'payout.completed': Type.Optional(person),
    'payout.failed': Type.Optional(person),
    'refund.completed': Type.Optional(amount),
    'refund.failed': Type.Optional(amount),
    'refund.returned': Type.Optional(card),
    'transfer.completed': Type.Optional(account),
    'transfer.failed': Type.Optional(account),
    'transfer.pending': Type.Optional(account),
    'bill.paid': Type.Optional(bill),
    'bill.refused': Type.Optional(bill),
    'bill.slow': Type.Optional(bill),
    'bill.silent': Type.Optional(bill),
    'bill.lost': Type.Optional(bill),
    'review.completed': Type.Optional(person),
    'review.rejected': Type.Optional(person),
    'review.artefacts': Type.Optional(person),
    'consent.approved': Type.Optional(person),
    'consent.rejected': Type.Optional(person),
    'rate.known': Type.Optional(
      Type.Object({ currencies: Type.Array(text, { minItems: 2, maxItems: 12 }) }, closed),
    ),
    'rate.unknown': Type.Optional(Type.Object({ base: text, quoted: text }, closed)),
    unsupported: Type.Optional(
      Type.Object({ groups: Type.Array(Type.Enum(optionalGroups), { minItems: 1 }) }, closed),
    ),
  },
  closed,
)

const file = Type.Object(
  {
    currency: text,
    amount_minor_units: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }),
    institution_name: text,
    outcome_within_ms: Type.Integer({ minimum: 100, maximum: 600_000 }),
    settle_ms: Type.Integer({ minimum: 0, maximum: 60_000 }),
    outcomes,
  },
  closed,
)
const compiled = Compile(file)

/** The test values by outcome. An outcome that is absent cannot be produced: its checks are skipped. */
export type Outcomes = Required<Static<typeof outcomes>>

/** A group of operations that a rail may lack. */
export type OptionalGroup = (typeof optionalGroups)[number]

/** What a back end must be able to produce for a check. */
export type OutcomeName = keyof Outcomes

/** How a back end is made to produce outcomes. */
export type OutcomeMap = Static<typeof file>

/** Reads the file. Throws a UsageError that names what is wrong in it. */
export function readOutcomeMap(path: string): OutcomeMap {
  const value = readJson(path)
  if (!compiled.Check(value)) {
    const [, errors] = compiled.Errors(value)
    const [first] = errors
    throw new UsageError(
      `${path}: ${first?.instancePath ?? ''} ${first?.message ?? 'is malformed'}`,
    )
  }
  const currencies = [value.currency, ...(value.outcomes['rate.known']?.currencies ?? [])]
  const unknown = currencies.find((currency) => !isCurrency(currency))
  if (unknown !== undefined) throw new UsageError(`${path}: ${unknown} is no ISO 4217 currency`)
  return value
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(`${path} cannot be read as JSON`, { cause: error })
  }
}
