// The catalogue of billers and products: what there is, the same as a CSV file, and forms that change it.
import type { FastifyInstance } from 'fastify'
import { formatAmount } from '#core/money/money.ts'
import { parseRanges } from '#core/money/range.ts'
import type { Biller, Product, ProductRange } from '#gen/payweave/billing/v1/catalogue_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import {
  chosenWord,
  code,
  type Filters,
  type Form,
  noticeOf,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { nextPageUrl, noneMatches, oneOf, rowsAt, sendCsv, withFilters } from '../list.ts'

const path = '/catalogue'
/** Rows of each of two sections. */
const pageSize = 25

/** Registers `/catalogue`, its file and its forms. */
export function registerCatalogue(
  app: FastifyInstance,
  { worker, clients: { catalogue } }: { worker: Worker; clients: Clients },
): void {
  app.get(
    path,
    worker.page(async (work) => {
      const { reply, query, may } = work
      const { billers, products } = await wantedOf(work, catalogue)
      const mayPut = may('payweave.billing.v1.CatalogueService/PutBiller')
      const own = billersSection(work, billers)
      const theirs = productsSection(work, products)
      return sendSections(reply, {
        title: 'Catalogue',
        notice: noticeOf(query, { stored: 'Stored. Bills are held against it at once.' }),
        sections: [
          { filters: filtersOf(work) },
          ...(mayPut
            ? [withForm(own, billerForm, 'PutBiller'), withForm(theirs, productForm, 'PutProduct')]
            : [own, theirs]),
        ],
      })
    }),
  )
  app.get(
    `${path}.csv`,
    worker.page(
      (work) =>
        sendCsv(work, 'catalogue', csvHead, async () => {
          const { billers, products } = await wantedOf(work, catalogue)
          const rows = [...billers.map(billerCells), ...products.map(productCells)]
          return { rows, nextPageToken: '' }
        }),
      asFile,
    ),
  )
  app.post(
    `${path}/billers`,
    worker.page(async ({ reply, form }) => {
      const biller = {
        billerCode: form.get('biller') ?? '',
        name: form.get('name') ?? '',
        active: form.get('active') === 'on',
      }
      await catalogue.putBiller({ biller })
      return reply.redirect(`${path}?notice=stored`, 303)
    }),
  )
  app.post(
    `${path}/products`,
    worker.page(async ({ reply, form }) => {
      const ranges = parseRanges(form.get('ranges') ?? '')
      const product = {
        billerCode: form.get('biller') ?? '',
        productCode: form.get('product') ?? '',
        name: form.get('name') ?? '',
        referencePattern: form.get('pattern') ?? '',
        active: form.get('active') === 'on',
        ranges: ranges.map(({ currency, minMinor, maxMinor }) => ({
          min: { currency, minorUnits: minMinor },
          max: { currency, minorUnits: maxMinor },
        })),
      }
      await catalogue.putProduct({ product })
      return reply.redirect(`${path}?notice=stored`, 303)
    }),
  )
}

const states = ['active', 'inactive'] as const

function filtersOf({ request, query }: Work): Filters {
  return {
    fields: [
      { label: 'Code of a biller', name: 'code', value: query.get('code') ?? '', maxlength: 64 },
      chosenWord('State', 'state', states, query),
    ],
    links: [{ label: 'CSV', href: withFilters(`${path}.csv`, request.url) }],
  }
}

/** The billers and products that match the query; the catalogue has one list. Throws INVALID_PARAMETER for an invalid state. */
async function wantedOf({ query }: Work, catalogue: Clients['catalogue']) {
  const wanted = query.get('code') ?? ''
  const state = oneOf(query, 'state', states)
  const isWanted = (one: { billerCode: string; active: boolean }) =>
    (wanted === '' || one.billerCode === wanted) &&
    (state === undefined || one.active === (state === 'active'))
  const { billers, products } = await catalogue.listCatalogue({})
  return { billers: billers.filter(isWanted), products: products.filter(isWanted) }
}

const listRpc = 'payweave.billing.v1.CatalogueService/ListCatalogue'

const active = { label: 'Active', name: 'active', type: 'checkbox', value: 'on' } as const
const biller = { label: 'Biller', name: 'biller', maxlength: 64, isRequired: true } as const
const name = {
  label: 'Name, for receipts',
  name: 'name',
  maxlength: 100,
  isRequired: true,
} as const

const billerForm: Form = {
  action: `${path}/billers`,
  button: 'Store the biller',
  rpc: 'payweave.billing.v1.CatalogueService/PutBiller',
  fields: [biller, name, active],
}

const productForm: Form = {
  action: `${path}/products`,
  button: 'Store the product',
  rpc: 'payweave.billing.v1.CatalogueService/PutProduct',
  fields: [
    biller,
    { label: 'Product', name: 'product', maxlength: 64, isRequired: true },
    name,
    { label: 'Pattern of references', name: 'pattern', maxlength: 200, isRequired: true },
    { label: 'Amounts: USD:1.00-5000.00,…', name: 'ranges', maxlength: 2_000, isRequired: true },
    active,
  ],
}

/** A section with the form that changes it, and what the form calls. */
function withForm(section: Section, form: Form, method: 'PutBiller' | 'PutProduct'): Section {
  return {
    ...section,
    forms: [form],
    rpc: [listRpc, `payweave.billing.v1.CatalogueService/${method}`],
    commands: ['biller list', method === 'PutBiller' ? 'biller put' : 'product put'],
  }
}

function billersSection({ request, query }: Work, billers: Biller[]): Section {
  const { rows, nextPageToken } = rowsAt(billers, query.get('billers'), pageSize)
  return {
    heading: 'Billers',
    table: {
      head: ['Code', 'Name', 'State'],
      empty: isFiltered(query)
        ? noneMatches('biller')
        : 'No biller yet. Store the first with: payweave biller put',
      rows: rows.map((one) => [code(one.billerCode), text(one.name), stateOf(one)]),
    },
    ...nextPageUrl(request.url, nextPageToken, 'billers'),
    rpc: listRpc,
    commands: ['biller list'],
  }
}

function productsSection({ request, query }: Work, products: Product[]): Section {
  const { rows, nextPageToken } = rowsAt(products, query.get('products'), pageSize)
  return {
    heading: 'Products',
    table: {
      head: ['Biller', 'Code', 'Name', 'References', 'Amounts', 'State'],
      empty: isFiltered(query)
        ? noneMatches('product')
        : 'No product yet. Store the first with: payweave product put',
      rows: rows.map((one) => [
        code(one.billerCode),
        code(one.productCode),
        text(one.name),
        code(one.referencePattern),
        text(one.ranges.map(rangeText).join(', ')),
        stateOf(one),
      ]),
    },
    ...nextPageUrl(request.url, nextPageToken, 'products'),
  }
}

const csvHead = ['biller', 'product', 'name', 'references', 'amounts', 'active']

/** A biller is a line without a product. */
function billerCells({ billerCode, name: own, active: isActive }: Biller): string[] {
  return [billerCode, '', own, '', '', String(isActive)]
}

function productCells(one: Product): string[] {
  const { billerCode, productCode, referencePattern, ranges } = one
  const amounts = ranges.map(rangeText).join(', ')
  return [billerCode, productCode, one.name, referencePattern, amounts, String(one.active)]
}

function isFiltered(query: URLSearchParams): boolean {
  return query.has('code') || query.has('state')
}

function stateOf({ active: isActive }: { active: boolean }) {
  return { state: isActive ? 'active' : 'inactive' }
}

function rangeText({ min, max }: ProductRange): string {
  if (min === undefined || max === undefined) return '–'
  const { currency } = min
  return `${formatAmount(min.minorUnits, currency)} to ${formatAmount(max.minorUnits, currency)} ${currency}`
}
