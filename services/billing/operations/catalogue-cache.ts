// A short-lived cache of the catalogue, which changes rarely and is read by every payment.
import type { Database } from '#platform/db/db.ts'
import { type Catalogue, catalogueOf } from '../domain/catalogue.ts'
import { readCatalogue } from '../store/catalogue-store.ts'

/** How long a change may go unseen by other processes. */
const lifeMs = 2_000

/** The catalogue, and a way to have it read anew. */
export type CatalogueCache = { read(): Promise<Catalogue>; drop(): void }

/** A cache over the database; calls at the same moment share one reading. */
export function catalogueCache(db: Database, nowMs: () => number = () => performance.now()) {
  let reading: Promise<Catalogue> | undefined
  let readMs = 0
  const cache: CatalogueCache = {
    read() {
      if (reading !== undefined && nowMs() - readMs < lifeMs) return reading
      readMs = nowMs()
      const fresh = load(db)
      reading = fresh
      // A failure is never remembered.
      fresh.catch(() => {
        if (reading === fresh) reading = undefined
      })
      return fresh
    },
    drop() {
      reading = undefined
    },
  }
  return cache
}

async function load(db: Database): Promise<Catalogue> {
  const { billers, products } = await readCatalogue(db)
  return catalogueOf(billers, products)
}
