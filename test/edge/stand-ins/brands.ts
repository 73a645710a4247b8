// Stands in for the branding of merchants, which all have the same.
import { type Brand, type Brands, noBrand } from '../../../gateway/pages/brand/brands.ts'

/** A brand that may change while pages are served. */
export function brandsOf(shown: { brand: Brand; logo: Buffer | undefined }): Brands {
  return {
    find: () => Promise.resolve(shown.brand),
    logo: () => Promise.resolve(shown.logo),
    drop: () => undefined,
  }
}

/** Merchants without branding. */
export const noBrands = brandsOf({ brand: noBrand, logo: undefined })
