// Renders one state of a payer's page with a branding that need not be stored. Loaded once somebody looks: it brings the payer's pages.
import { create } from '@bufbuild/protobuf'
import type { Language } from '#core/text/language.ts'
import {
  AccessService,
  BrandingSchema,
  type Merchant,
  UpdateMerchantRequestSchema,
} from '#gen/payweave/accounts/v1/access_pb.js'
import { rulesCheck } from '#platform/rpc/validation/request-rules.ts'
import { brandFrom } from '../../../gateway/pages/brand/brands.ts'
import { renderPreview } from '../../../gateway/pages/preview/render-preview.ts'
import type { Wanted } from './wanted.ts'

const check = rulesCheck(AccessService.method.updateMerchant)

/** Throws INVALID_PARAMETER, with every bad field, for a branding that the contract refuses. */
export function requireBranding({ updateMask, ...values }: Wanted): void {
  check(create(UpdateMerchantRequestSchema, { ...values, updateMask }))
}

/** A merchant as it would be with the branding that a form wants, but for a logo that is not stored yet. */
export function merchantWith(
  merchant: Merchant,
  { logoPng, updateMask, ...texts }: Wanted,
): Merchant {
  const stored = merchant.branding?.logoDigest ?? ''
  const chosen = logoPng.length > 0 ? 'chosen' : ''
  const logoDigest = updateMask.paths.includes('logo_png') ? chosen : stored
  return { ...merchant, branding: create(BrandingSchema, { ...texts, logoDigest }) }
}

/** One page as HTML that runs and leads nowhere. `logoUrl` is where it finds the logo. */
export async function previewPage(
  { businessName, branding }: Merchant,
  { state, language, logoUrl, nonce }: PreviewOf,
): Promise<string> {
  const shown = { businessName, brand: brandFrom(branding) }
  const [page] = await renderPreview(shown, language, { only: state, logoUrl })
  if (page === undefined) throw new Error('a state without a page')
  return page.html
    .replaceAll(/<noscript>[^]*?<\/noscript>|<script[^>]*><\/script>/g, '')
    .replace('<head>', '<head>\n<base target="_blank">')
    .replaceAll(/ nonce="[^"]*"/g, ` nonce="${nonce}"`)
}

/** What is shown, and for which answer. */
export type PreviewOf = { state: string; language: Language; logoUrl: string; nonce: string }
