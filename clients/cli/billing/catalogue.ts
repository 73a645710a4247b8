// The commands on billers and their products.
import { create } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { formatAmount } from '#core/money/money.ts'
import { parseRanges } from '#core/money/range.ts'
import {
  type Biller,
  BillerSchema,
  CatalogueService,
  type Product,
  type ProductRange,
  ProductSchema,
} from '#gen/payweave/billing/v1/catalogue_pb.js'
import { oneOperand } from '../access.ts'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import { connect } from '../connection.ts'
import { jsonLine, printable } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { UsageError } from '../usage-error.ts'

const billingOptions = optionsFor('billing')
const inactive = { inactive: 'refuse its bills as if it were unknown' } as const

/** The commands of `biller` and `product`. */
export const catalogueCommands: Command[] = [
  {
    name: 'biller list',
    operands: '',
    summary: 'Lists billers, each with its products.',
    options: billingOptions,
    run: (context) => withCatalogue(context, list),
  },
  {
    name: 'biller put',
    operands: '<code>',
    summary: 'Creates a biller, or replaces its values.',
    options: { ...billingOptions, name: 'its name, for receipts' },
    flags: inactive,
    run: (context) => withCatalogue(context, putBiller),
  },
  {
    name: 'product put',
    operands: '<biller code> <product code>',
    summary: 'Creates a product of a biller, or replaces its values.',
    options: {
      ...billingOptions,
      name: 'its name, for receipts',
      pattern: 'pattern that a whole customer reference must match, for example "[A-Z]\\d{7}"',
      range:
        'minimum and maximum amount by currency, comma-separated, for example USD:1.00-5000.00',
    },
    flags: inactive,
    run: (context) => withCatalogue(context, putProduct),
  },
]

type CatalogueWork = (
  context: CommandContext,
  catalogue: Client<typeof CatalogueService>,
) => Promise<void>

/**
 * Does work over a connection to billing and closes it. Rejects with a UsageError as `connect` does, and with what the
 * work rejects with.
 */
export async function withCatalogue(context: CommandContext, work: CatalogueWork): Promise<void> {
  const connection = connect(context.options, context.env, 'billing')
  try {
    await work(context, connection.client(CatalogueService))
  } finally {
    await connection.close()
  }
}

/** A biller, or a product of one. */
type Entry = { billerCode: string } & ({ biller: Biller } | { product: Product })

const entryShape: ListShape<Entry> = {
  headings: ['BILLER', 'PRODUCT', 'NAME', 'REFERENCE', 'AMOUNTS', 'STATE'],
  cells: ({ billerCode, ...entry }) => {
    const own = 'product' in entry ? entry.product : entry.biller
    const state = own.active ? 'active' : 'inactive'
    if (!('product' in entry)) return [billerCode, '', printable(own.name), '', '', state]
    const { productCode, referencePattern, ranges } = entry.product
    const limits = ranges.map(rangeText).join(', ')
    return [
      billerCode,
      productCode,
      printable(own.name),
      printable(referencePattern),
      limits,
      state,
    ]
  },
  json: (entry) =>
    'product' in entry
      ? jsonLine(ProductSchema, entry.product)
      : jsonLine(BillerSchema, entry.biller),
  none: 'no billers',
}

const list: CatalogueWork = async (context, catalogue) => {
  const { billers, products } = await catalogue.listCatalogue({})
  const entries = billers.flatMap((biller): Entry[] => {
    const { billerCode } = biller
    const own = products.filter((product) => product.billerCode === billerCode)
    return [{ billerCode, biller }, ...own.map((product) => ({ billerCode, product }))]
  })
  await printList(context, entryShape, [entries])
}

const putBiller: CatalogueWork = async (context, catalogue) => {
  const billerCode = oneOperand(context, 'code')
  const active = !context.flags.has('inactive')
  const biller = create(BillerSchema, { billerCode, name: optionOf(context, 'name'), active })
  await catalogue.putBiller({ biller })
  await printList(context, entryShape, [[{ billerCode, biller }]])
}

const putProduct: CatalogueWork = async (context, catalogue) => {
  const [billerCode, productCode, ...more] = context.operands
  if (billerCode === undefined || productCode === undefined || more.length > 0) {
    throw new UsageError('pass the code of a biller and the code of its product')
  }
  const product = create(ProductSchema, {
    billerCode,
    productCode,
    name: optionOf(context, 'name'),
    referencePattern: optionOf(context, 'pattern'),
    ranges: rangesOf(optionOf(context, 'range')),
    active: !context.flags.has('inactive'),
  })
  await catalogue.putProduct({ product })
  await printList(context, entryShape, [[{ billerCode, product }]])
}

function optionOf({ options }: CommandContext, name: string): string {
  const text = options[name]
  if (text === undefined) throw new UsageError(`--${name} is missing`)
  return text
}

function rangesOf(text: string) {
  try {
    return parseRanges(text).map(({ currency, minMinor, maxMinor }) => ({
      min: { currency, minorUnits: minMinor },
      max: { currency, minorUnits: maxMinor },
    }))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new UsageError('--range must look like USD:1.00-5000.00,TTD:1.00-5000.00', {
      cause: error,
    })
  }
}

function rangeText({ min, max }: ProductRange): string {
  if (min === undefined || max === undefined) return '-'
  const text = (minor: bigint) => formatAmount(minor, min.currency)
  return `${min.currency} ${text(min.minorUnits)}-${text(max.minorUnits)}`
}
