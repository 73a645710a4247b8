// Statements on how merchants' pages look.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Branding, Merchant } from '../domain/access.ts'
import { merchantColumns } from './project-store.ts'

/** Columns of a merchant's branding, as `b`, which may be missing. */
const brandingColumns = `coalesce(b.color, '') as color,
  coalesce(b.logo_digest, '') as "logoDigest", coalesce(b.support_email, '') as "supportEmail",
  coalesce(b.support_phone, '') as "supportPhone", coalesce(b.website_url, '') as "websiteUrl"`

type BrandedMerchant = Omit<Merchant, 'branding'> & Branding

const findStatement = sql(
  'find_branded_merchant',
  `select ${merchantColumns}, ${brandingColumns}
   from merchant m
   left join merchant_branding b on b.project_id = m.project_id and b.merchant_id = m.merchant_id
   where m.project_id = $1 and m.merchant_id = $2`,
)
/** Finds a merchant of a project with its branding. Locks nothing. */
export async function findBrandedMerchant(
  db: Queryable,
  projectId: string,
  merchantId: string,
): Promise<Merchant | undefined> {
  const row = await db.row<BrandedMerchant>(findStatement, [projectId, merchantId])
  if (row === undefined) return undefined
  const { color, logoDigest, supportEmail, supportPhone, websiteUrl, ...merchant } = row
  return { ...merchant, branding: { color, logoDigest, supportEmail, supportPhone, websiteUrl } }
}

const findLogoStatement = sql(
  'find_logo',
  'select logo_png as "logoPng" from merchant_branding where project_id = $1 and merchant_id = $2',
)
/** Reads a merchant's logo, empty when it has none. Locks nothing. */
export async function findLogo(
  db: Queryable,
  projectId: string,
  merchantId: string,
): Promise<Buffer> {
  const row = await db.row<{ logoPng: Buffer }>(findLogoStatement, [projectId, merchantId])
  return row?.logoPng ?? Buffer.alloc(0)
}

const upsertStatement = sql(
  'upsert_branding',
  `insert into merchant_branding (project_id, merchant_id, color, logo_png, logo_digest,
     support_email, support_phone, website_url)
   values ($1, $2, coalesce($3, ''), coalesce($4, ''::bytea), coalesce($5, ''), coalesce($6, ''),
     coalesce($7, ''), coalesce($8, ''))
   on conflict (project_id, merchant_id) do update set
     color = coalesce($3, merchant_branding.color),
     logo_png = coalesce($4, merchant_branding.logo_png),
     logo_digest = coalesce($5, merchant_branding.logo_digest),
     support_email = coalesce($6, merchant_branding.support_email),
     support_phone = coalesce($7, merchant_branding.support_phone),
     website_url = coalesce($8, merchant_branding.website_url),
     update_time = clock_now()`,
)
/** A change of a merchant's branding; what is undefined stays. */
export type BrandingChange = Partial<Branding> & { logoPng?: Buffer | undefined }

/** Changes a merchant's branding. Locks its row. */
export async function upsertBranding(
  tx: Queryable,
  projectId: string,
  merchantId: string,
  wanted: BrandingChange,
): Promise<void> {
  await tx.run(upsertStatement, [
    projectId,
    merchantId,
    wanted.color ?? null,
    wanted.logoPng ?? null,
    wanted.logoDigest ?? null,
    wanted.supportEmail ?? null,
    wanted.supportPhone ?? null,
    wanted.websiteUrl ?? null,
  ])
}
