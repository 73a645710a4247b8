// Reads and writes the catalogue.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Biller, Product, Range } from '../domain/catalogue.ts'

const billersStatement = sql(
  'biller_list',
  'select biller_code as "billerCode", name, active from biller order by biller_code',
)

const productsStatement = sql(
  'product_list',
  `select p.biller_code as "billerCode", p.product_code as "productCode", p.name,
     p.reference_pattern as "referencePattern", p.active,
     array_agg(r.currency order by r.currency) as currencies,
     array_agg(r.min_minor order by r.currency) as mins,
     array_agg(r.max_minor order by r.currency) as maxes
   from product p join product_range r using (biller_code, product_code)
   group by p.biller_code, p.product_code
   order by p.biller_code, p.product_code`,
)

type ProductRow = Omit<Product, 'ranges'> & {
  currencies: string[]
  mins: bigint[]
  maxes: bigint[]
}

/** All billers and all products, by code. */
export async function readCatalogue(
  db: Queryable,
): Promise<{ billers: Biller[]; products: Product[] }> {
  const [billers, rows] = await Promise.all([
    db.rows<Biller>(billersStatement, []),
    db.rows<ProductRow>(productsStatement, []),
  ])
  return { billers, products: rows.map(productOf) }
}

function productOf({ currencies, mins, maxes, ...product }: ProductRow): Product {
  const ranges = currencies.map((currency, index): Range => {
    return { currency, minMinor: mins[index] ?? 0n, maxMinor: maxes[index] ?? 0n }
  })
  return { ...product, ranges }
}

const putBillerStatement = sql(
  'biller_put',
  `insert into biller (biller_code, name, active) values ($1, $2, $3)
   on conflict (biller_code) do update set name = excluded.name, active = excluded.active`,
)

/** Makes or changes a biller. */
export async function putBiller(tx: Queryable, biller: Biller): Promise<void> {
  await tx.run(putBillerStatement, [biller.billerCode, biller.name, biller.active])
}

const putProductStatement = sql(
  'product_put',
  `insert into product (biller_code, product_code, name, reference_pattern, active)
   select biller_code, $2, $3, $4, $5 from biller where biller_code = $1
   on conflict (biller_code, product_code) do update set name = excluded.name,
     reference_pattern = excluded.reference_pattern, active = excluded.active`,
)

const dropRangesStatement = sql(
  'product_range_drop',
  'delete from product_range where biller_code = $1 and product_code = $2',
)

const putRangesStatement = sql(
  'product_range_put',
  `insert into product_range (biller_code, product_code, currency, min_minor, max_minor)
   select $1, $2, r.currency, r.min_minor, r.max_minor
   from unnest($3::text[], $4::bigint[], $5::bigint[]) as r(currency, min_minor, max_minor)`,
)

/** Makes or changes a product with its ranges; false when there is no such biller. */
export async function putProduct(tx: Queryable, product: Product): Promise<boolean> {
  const { billerCode, productCode, name, referencePattern, active, ranges } = product
  const made = await tx.run(putProductStatement, [
    billerCode,
    productCode,
    name,
    referencePattern,
    active,
  ])
  if (made === 0) return false
  await tx.run(dropRangesStatement, [billerCode, productCode])
  await tx.run(putRangesStatement, [
    billerCode,
    productCode,
    ranges.map(({ currency }) => currency),
    ranges.map(({ minMinor }) => minMinor),
    ranges.map(({ maxMinor }) => maxMinor),
  ])
  return true
}
