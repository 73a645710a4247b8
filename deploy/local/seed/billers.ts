// Seeds the sandbox's billers; never runs against production.
import type { Database } from '#platform/db/db.ts'
import type { Biller, Product } from '../../../services/billing/domain/catalogue.ts'
import {
  putBiller,
  putProduct,
  readCatalogue,
} from '../../../services/billing/store/catalogue-store.ts'

const billers: Biller[] = [
  { billerCode: 'DEMO_POWER', name: 'Demo Power', active: true },
  { billerCode: 'DEMO_WATER', name: 'Demo Water', active: true },
]

const products: Product[] = [
  {
    billerCode: 'DEMO_POWER',
    productCode: 'PREPAID',
    name: 'Prepaid electricity',
    referencePattern: '\\d{8,12}',
    active: true,
    ranges: [
      { currency: 'USD', minMinor: 100n, maxMinor: 500_000n },
      { currency: 'TTD', minMinor: 100n, maxMinor: 500_000n },
    ],
  },
  {
    billerCode: 'DEMO_WATER',
    productCode: 'BILL',
    name: 'Water bill',
    referencePattern: 'W\\d{7}',
    active: true,
    ranges: [{ currency: 'USD', minMinor: 2_500n, maxMinor: 2_500n }],
  },
]

/** Inserts what is missing; what is there stays as people left it. */
export async function seedBillers(
  db: Database,
  environment: 'local' | 'sandbox' | 'production',
): Promise<void> {
  if (environment === 'production') throw new Error('a sandbox seed must not touch production')
  await db.transaction(async (tx) => {
    const known = await readCatalogue(tx)
    for (const biller of billers) {
      if (known.billers.some(({ billerCode }) => billerCode === biller.billerCode)) continue
      await putBiller(tx, biller)
    }
    for (const product of products) {
      if (known.products.some((other) => isSame(other, product))) continue
      await putProduct(tx, product)
    }
  })
}

function isSame(left: Product, right: Product): boolean {
  return left.billerCode === right.billerCode && left.productCode === right.productCode
}
