// Changes how a merchant's pages look, with its audit entry and its event.
import { createHash } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import { type Merchant, requireHttpsUrl } from '../domain/access.ts'
import {
  type BrandingChange,
  findBrandedMerchant,
  upsertBranding,
} from '../store/branding-store.ts'
import { existingProject } from './administer.ts'
import { type Actor, type Administration, change } from './change.ts'
import { requireLogo } from './logo.ts'

/**
 * Changes the parts that are defined; an empty value removes its part. MERCHANT_NOT_FOUND for an unknown merchant,
 * INVALID_PARAMETER for an invalid logo or URL.
 */
export async function updateBranding(
  administration: Administration,
  actor: Actor,
  { projectId, merchantId }: Pick<Merchant, 'projectId' | 'merchantId'>,
  { logoPng, websiteUrl, ...wanted }: Omit<BrandingChange, 'logoDigest'>,
): Promise<Merchant> {
  const changed: BrandingChange = {
    ...wanted,
    websiteUrl: websiteUrl && requireHttpsUrl(websiteUrl, 'website_url'),
    ...(logoPng && logoOf(logoPng)),
  }
  return change(administration, actor, async (tx) => {
    await existingProject(tx, projectId)
    if ((await findBrandedMerchant(tx, projectId, merchantId)) === undefined)
      throw unknown(merchantId)
    await upsertBranding(tx, projectId, merchantId, changed)
    const result = await findBrandedMerchant(tx, projectId, merchantId)
    if (result === undefined) throw unknown(merchantId)
    const details = { ...result.branding }
    return { action: 'update_merchant', targetId: merchantId, projectId, details, result }
  })
}

function logoOf(png: Buffer): Pick<BrandingChange, 'logoPng' | 'logoDigest'> {
  if (png.length === 0) return { logoPng: png, logoDigest: '' }
  const logoPng = requireLogo(png)
  return { logoPng, logoDigest: createHash('sha256').update(logoPng).digest('hex') }
}

function unknown(merchantId: string): Failure {
  return new Failure('MERCHANT_NOT_FOUND', `project has no merchant ${merchantId}`)
}
