// Finds how the pages of a merchant look, and caches it. A page is never kept waiting for it, nor refused.
import type { Client } from '@connectrpc/connect'
import type { AccessService, Branding } from '#gen/payweave/accounts/v1/access_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { ttlCache } from '#platform/rpc/client/ttl-cache.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Palettes, palettesOf } from './palette.ts'

/** Names a merchant. */
export type MerchantRef = { projectId: string; merchantId: string }

/** How pages look and where payers get help; each part is empty where the merchant has none. */
export type Brand = {
  palettes: Palettes | undefined
  /** Changes with the logo. */
  logoVersion: string
  supportEmail: string
  supportPhone: string
  websiteUrl: string
}

/** Looks up brands and logos. */
export type Brands = {
  /** Never rejects: a page without its brand is better than none. */
  find(merchant: MerchantRef): Promise<Brand>
  /** The PNG; undefined without one. Rejects as the RPC does. */
  logo(merchant: MerchantRef): Promise<Uint8Array | undefined>
  /** Forgets the brands of a project, of which one has changed; all of them when a change may have been missed. */
  drop(projectId?: string): void
}

/** What a page looks like that nobody has changed. */
export const noBrand: Brand = {
  palettes: undefined,
  logoVersion: '',
  supportEmail: '',
  supportPhone: '',
  websiteUrl: '',
}

/** The brand of a merchant's settings. */
export function brandFrom(branding: Branding | undefined): Brand {
  if (branding === undefined) return noBrand
  const { color, logoDigest, supportEmail, supportPhone, websiteUrl } = branding
  return {
    palettes: color === '' ? undefined : palettesOf(color),
    logoVersion: logoDigest.slice(0, 16),
    supportEmail,
    supportPhone,
    websiteUrl,
  }
}

function keyOf({ projectId, merchantId }: MerchantRef): string {
  return `${projectId} ${merchantId}`
}

type AccessClient = Pick<Client<typeof AccessService>, 'getMerchant' | 'getMerchantLogo'>

const brandTtlMs = 60_000
const maxBrands = 10_000
/** At 64 KiB each. */
const maxLogos = 100
const withinMs = 500

/** Asks accounts, once a minute for each merchant. */
export function createBrands(accounts: AccessClient, log: Logger): Brands {
  const options = { ttlMs: () => brandTtlMs, refusedTtlMs: () => 0 }
  const brands = ttlCache<Brand>({ ...options, maxEntries: maxBrands })
  const logos = ttlCache<Uint8Array>({ ...options, maxEntries: maxLogos })

  async function load({ projectId, merchantId }: MerchantRef): Promise<Brand> {
    const { merchant } = await accounts.getMerchant(
      { projectId, merchantId },
      withProject(projectId),
    )
    return brandFrom(merchant?.branding)
  }

  return {
    async find(merchant) {
      // A payments service of the previous release names no merchant.
      if (merchant.merchantId === '') return noBrand
      const late = new Promise<Brand>((resolve) => {
        setTimeout(() => resolve(noBrand), withinMs).unref()
      })
      try {
        const found = brands.get(keyOf(merchant), () => runDetached(() => load(merchant)))
        return await Promise.race([found, late])
      } catch (error) {
        log.warn({ err: error }, 'branding not available')
        return noBrand
      }
    },
    async logo(merchant) {
      const { projectId, merchantId } = merchant
      if (merchantId === '') return undefined
      const logo = await logos.get(keyOf(merchant), async () => {
        const call = { projectId, merchantId }
        const answer = await accounts.getMerchantLogo(call, withProject(projectId))
        return answer.logoPng
      })
      return logo.length === 0 ? undefined : logo
    },
    drop(projectId = '') {
      const isTheirs = (key: string) => key.startsWith(projectId)
      brands.drop(isTheirs)
      logos.drop(isTheirs)
    },
  }
}
