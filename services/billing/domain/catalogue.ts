// Billers and products: what may be paid and what may not. Pure.
import { Failure, invalid, type Reason } from '#core/errors/errors.ts'
import { isCurrency } from '#core/money/money.ts'

/** A biller as the catalogue has it. */
export type Biller = { billerCode: string; name: string; active: boolean }

/** The amounts that a product accepts in one currency. */
export type Range = { currency: string; minMinor: bigint; maxMinor: bigint }

/** A product of a biller. */
export type Product = {
  billerCode: string
  productCode: string
  name: string
  referencePattern: string
  active: boolean
  ranges: Range[]
}

/** Everything that can be paid, for quick look-ups. */
export type Catalogue = {
  billers: ReadonlyMap<string, Biller>
  /** By biller code, then product code. */
  products: ReadonlyMap<string, ReadonlyMap<string, Product & { reference: RegExp }>>
}

type Wanted = {
  billerCode: string
  productCode: string
  amountMinor: bigint
  currency: string
  customerReference: string
}

/**
 * Refuses what the catalogue does not offer. Throws BILLER_NOT_FOUND, PRODUCT_NOT_FOUND, CURRENCY_NOT_SUPPORTED,
 * AMOUNT_OUT_OF_RANGE and CUSTOMER_REFERENCE_INVALID, in this order.
 */
export function checkOffered(catalogue: Catalogue, wanted: Wanted): void {
  const biller = catalogue.billers.get(wanted.billerCode)
  if (biller?.active !== true) throw new Failure('BILLER_NOT_FOUND', 'there is no such biller')
  const product = catalogue.products.get(wanted.billerCode)?.get(wanted.productCode)
  if (product?.active !== true) {
    throw new Failure('PRODUCT_NOT_FOUND', 'the biller has no such product')
  }
  const range = product.ranges.find(({ currency }) => currency === wanted.currency)
  if (range === undefined) {
    throw notTaken(
      'CURRENCY_NOT_SUPPORTED',
      'amount.currency',
      'the product does not take this currency',
    )
  }
  if (wanted.amountMinor < range.minMinor || wanted.amountMinor > range.maxMinor) {
    throw notTaken(
      'AMOUNT_OUT_OF_RANGE',
      'amount.minor_units',
      'the product does not take this amount',
    )
  }
  if (!product.reference.test(wanted.customerReference)) {
    throw notTaken(
      'CUSTOMER_REFERENCE_INVALID',
      'customer_reference',
      'the biller does not know such references',
    )
  }
}

function notTaken(reason: Reason, field: string, message: string): Failure {
  const violations = [{ field, reason, rule: 'is not taken by the product' }]
  return new Failure(reason, message, { violations })
}

/** Puts a catalogue together out of its rows. */
export function catalogueOf(billers: Biller[], products: Product[]): Catalogue {
  const byBiller = new Map<string, Map<string, Product & { reference: RegExp }>>()
  for (const product of products) {
    const own = byBiller.get(product.billerCode) ?? new Map()
    own.set(product.productCode, { ...product, reference: wholly(product.referencePattern) })
    byBiller.set(product.billerCode, own)
  }
  return {
    billers: new Map(billers.map((biller) => [biller.billerCode, biller])),
    products: byBiller,
  }
}

// One literal, `\d` or class, each with at most one bounded count: no group, no choice, no repetition without end.
const pieces = /^(?:(?:[A-Za-z0-9 /_-]|\\d|\[[A-Za-z0-9 /_-]+\])(?:\{\d{1,2}(?:,\d{1,2})?\}|\?)?)+$/
const maxPattern = 200
/** A reference that does not match may be tried in as many ways as the counts of the pattern can be chosen. */
const maxWays = 10_000

/** Returns whether a pattern is one that takes bounded time and compiles. */
export function isSafePattern(pattern: string): boolean {
  if (pattern.length > maxPattern || !pieces.test(pattern) || waysOf(pattern) > maxWays)
    return false
  try {
    wholly(pattern)
    return true
  } catch {
    return false
  }
}

/** In how many ways the counts of a pattern can be chosen. */
function waysOf(pattern: string): number {
  return Array.from(pattern.matchAll(/\?|\{(\d+),(\d+)\}/g)).reduce(
    (ways, [, min = '0', max = '1']) => ways * (Number(max) - Number(min) + 1),
    1,
  )
}

function wholly(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`)
}

/** Refuses a product that cannot be stored: INVALID_PARAMETER naming the field. */
export function checkProduct({ referencePattern, ranges }: Product): void {
  if (!isSafePattern(referencePattern)) {
    throw invalid(
      'product.reference_pattern',
      'must be classes, literals and few ranges of counts only',
    )
  }
  if (!ranges.every(({ currency }) => isCurrency(currency))) {
    throw invalid('product.ranges', 'must be in ISO 4217 currencies')
  }
  const currencies = new Set(ranges.map(({ currency }) => currency))
  if (currencies.size < ranges.length) throw invalid('product.ranges', 'names a currency twice')
  if (ranges.some(({ minMinor, maxMinor }) => maxMinor < minMinor)) {
    throw invalid('product.ranges', 'must have min <= max')
  }
}
