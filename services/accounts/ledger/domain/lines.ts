// The lines of a transfer, and which of them are valid together. Pure.
import { Failure, invalid } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import { isUuid } from '#core/identity/id.ts'
import { isCurrency } from '#core/money/money.ts'

/** The internal accounts, one of each for every project and currency. The README of payments says what each is for. */
export const internalNames = [
  'clearing',
  'held',
  'suspense',
  'fee_income',
  'merchant_receivable',
  'refunds_unpaid',
  'fx_position',
  'fx_rounding',
  'biller_clearing',
  'opening',
] as const

/** Name of an internal account. */
export type InternalName = (typeof internalNames)[number]

/** A customer's account, or the float of a project. Its balance is one row, which never falls below its floor. */
export type HolderAddress = { accountId: string } | { floatProjectId: string }

/** Names an account of the ledger; its currency is that of the money beside it. */
export type Address = HolderAddress | { internal: InternalName }

/** One line of a transfer. */
export type Line = {
  address: Address
  currency: string
  /** Positive is a credit (more is owed to the holder), negative a debit. */
  amountMinor: bigint
  /** How much of it is fees, zero or above; zero when absent. */
  feeMinor?: bigint
}

/** What a transfer is for, as the histories of its customers show it. */
export type Details = {
  reference?: string
  description?: string
  method?: string
  metadata?: Record<string, string>
}

/** A holder's account as its row is keyed. */
export type HolderKey = { holder: 'customer' | 'float'; holderId: string; currency: string }

/** What a transfer changes of one holder's balance. */
export type HolderDelta = HolderKey & { deltaMinor: bigint }

/** The largest amount that a balance or a line can hold. */
export const maxMinor = 2n ** 63n - 1n
const maxLines = 100

/** An address with its id in lower case, as PostgreSQL returns it. */
export function normalizedAddress(address: Address): Address {
  if ('internal' in address) return address
  return 'accountId' in address
    ? { accountId: address.accountId.toLowerCase() }
    : { floatProjectId: address.floatProjectId.toLowerCase() }
}

/** The key of a holder's row, with the id in lower case, as PostgreSQL returns it. */
export function holderKey(address: HolderAddress, currency: string): HolderKey {
  return 'accountId' in address
    ? { holder: 'customer', holderId: address.accountId.toLowerCase(), currency }
    : { holder: 'float', holderId: address.floatProjectId.toLowerCase(), currency }
}

/** INVALID_PARAMETER unless the lines make a transfer of the project; a float must be the project's own. */
export function requireLines(projectId: string, lines: readonly Line[]): void {
  if (lines.length < 2 || lines.length > maxLines) {
    refuse('postings', `must be 2 to ${maxLines} lines`)
  }
  const sums = new Map<string, bigint>()
  for (const [index, { address, currency, amountMinor, feeMinor = 0n }] of lines.entries()) {
    const field = `postings[${index}]`
    requireAddress(projectId, address, `${field}.address`)
    requireCurrency(currency, `${field}.amount.currency`)
    if (amountMinor === 0n) refuse(`${field}.amount`, 'must not be zero')
    requireAmountSize(magnitude(amountMinor))
    // A credit comes without its fee, a debit has it within.
    if (feeMinor < 0n || (amountMinor < 0n && feeMinor > -amountMinor)) {
      refuse(`${field}.fee_minor_units`, 'must be zero or above, and within a debit')
    }
    sums.set(currency, (sums.get(currency) ?? 0n) + amountMinor)
  }
  for (const [currency, sum] of sums) {
    if (sum !== 0n) refuse('postings', `must sum to zero in ${currency}`)
  }
  for (const { deltaMinor } of holderDeltas(lines)) requireAmountSize(magnitude(deltaMinor))
}

/** The changes of holders' balances by some lines, in the order in which the rows are locked. */
export function holderDeltas(lines: readonly Line[]): HolderDelta[] {
  const deltas = new Map<string, HolderDelta>()
  for (const { address, currency, amountMinor } of lines) {
    if ('internal' in address) continue
    const key = holderKey(address, currency)
    const name = lockName(key)
    const deltaMinor = (deltas.get(name)?.deltaMinor ?? 0n) + amountMinor
    deltas.set(name, { ...key, deltaMinor })
  }
  return [...deltas].toSorted(byName).map(([, delta]) => delta)
}

/** The holders that several changes touch together, and what each change does to each. */
export type TouchedHolders = {
  /** In the order in which their rows are locked. */
  holders: (HolderKey & { debitMinor: bigint })[]
  /** Changes and holders by their numbers, from 1. */
  deltas: { change: number; holder: number; deltaMinor: bigint }[]
}

/** What several changes do to holders; the debits of a holder are those of all changes, at most `maxMinor`. */
export function touchedHolders(changes: readonly (readonly HolderDelta[])[]): TouchedHolders {
  const touched = new Map<string, HolderKey & { debitMinor: bigint }>()
  for (const { deltaMinor, ...key } of changes.flat()) {
    const name = lockName(key)
    const debitMinor = (touched.get(name)?.debitMinor ?? 0n) + (deltaMinor < 0n ? -deltaMinor : 0n)
    touched.set(name, { ...key, debitMinor: debitMinor > maxMinor ? maxMinor : debitMinor })
  }
  const ordered = [...touched].toSorted(byName)
  const numbers = new Map(ordered.map(([name], index) => [name, index + 1]))
  return {
    holders: ordered.map(([, holder]) => holder),
    deltas: changes.flatMap((deltas, index) =>
      deltas.map(({ deltaMinor, ...key }) => ({
        change: index + 1,
        holder: numbers.get(lockName(key)) ?? 0,
        deltaMinor,
      })),
    ),
  }
}

function lockName({ holderId, holder, currency }: HolderKey): string {
  return `${holderId} ${holder} ${currency}`
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

/** The lines that reverse others. The fee of a credit may be more than the credit, and then it is not within the debit. */
export function reversedLines(lines: readonly Line[]): Line[] {
  return lines.map(({ feeMinor = 0n, ...line }) => {
    const isWithin = feeMinor <= magnitude(line.amountMinor)
    return { ...line, amountMinor: -line.amountMinor, feeMinor: isWithin ? feeMinor : 0n }
  })
}

/** The fingerprint that distinguishes a repeat of lines from a conflict; their order counts. */
export function linesFingerprint(lines: readonly Line[], further: unknown = null): Buffer {
  return fingerprint([
    lines.map(({ address, currency, amountMinor, feeMinor = 0n }) => [
      addressText(address),
      currency,
      String(amountMinor),
      String(feeMinor),
    ]),
    further,
  ])
}

/** An address as one text that no other address has. */
export function addressText(address: Address): string {
  if ('internal' in address) return `internal:${address.internal}`
  const { holder, holderId } = holderKey(address, '')
  return `${holder}:${holderId}`
}

/** Details with every field. */
export function wholeDetails(details: Details = {}): Required<Details> {
  const { reference = '', description = '', method = '', metadata = {} } = details
  return { reference, description, method, metadata }
}

/** INVALID_PARAMETER unless it is an account that a transfer of the project may name. */
export function requireAddress(projectId: string, address: Address, field: string): void {
  if ('internal' in address) return
  const { holder, holderId } = holderKey(address, '')
  if (!isUuid(holderId)) refuse(field, 'must hold a UUID')
  if (holder === 'float' && holderId !== projectId.toLowerCase()) {
    throw accountNotFound('the float of another project')
  }
}

/** INVALID_PARAMETER unless it is a currency. */
export function requireCurrency(currency: string, field: string): void {
  if (!isCurrency(currency)) refuse(field, 'must be an ISO 4217 code')
}

/** INVALID_PARAMETER unless it is above zero; AMOUNT_OUT_OF_RANGE when no balance can hold it. */
export function requirePositive(amountMinor: bigint, field: string): void {
  if (amountMinor <= 0n) refuse(field, 'must be above zero')
  requireAmountSize(amountMinor)
}

/** The refusal of an account that the ledger does not have, or not for this project. */
export function accountNotFound(which: string): Failure {
  return new Failure('LEDGER_ACCOUNT_NOT_FOUND', `the ledger has no such account: ${which}`)
}

function requireAmountSize(amountMinor: bigint): void {
  if (amountMinor > maxMinor) throw tooLarge()
}

/** The refusal of an amount, or of a sum, that 64 bits cannot hold. */
export function tooLarge(cause?: unknown): Failure {
  const message = `an amount or balance passes ${maxMinor} minor units`
  return new Failure('AMOUNT_OUT_OF_RANGE', message, cause === undefined ? {} : { cause })
}

function magnitude(amountMinor: bigint): bigint {
  return amountMinor < 0n ? -amountMinor : amountMinor
}

/** Throws INVALID_PARAMETER for a field. */
export function refuse(field: string, what: string): never {
  throw invalid(field, what)
}
