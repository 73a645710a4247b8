// Looks up merchants and caches them for a minute.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Merchant } from '../domain/new-payment.ts'

/** Finds a merchant of a project. PW_INVALID_API_KEY when the project has no such merchant. */
export type FindMerchant = (projectId: string, merchantId: string) => Promise<Merchant>

const rememberMs = 60_000
const maxCached = 10_000

/** Asks accounts, once a minute and merchant; calls that come together share one question. */
export function merchantFinder(
  access: Pick<Client<typeof AccessService>, 'getMerchant'>,
  now: () => number = Date.now,
): FindMerchant {
  const remembered = new Map<string, { merchant: Promise<Merchant>; untilMs: number }>()
  return (projectId, merchantId) => {
    const key = `${projectId} ${merchantId}`
    const known = remembered.get(key)
    if (known !== undefined && now() < known.untilMs) return known.merchant
    // Shared by calls, so bound to the deadline and the abort of none of them.
    const merchant = runDetached(() => ask(access, projectId, merchantId))
    remembered.delete(key)
    remembered.set(key, { merchant, untilMs: now() + rememberMs })
    if (remembered.size > maxCached) forgetOldest(remembered)
    // Failures and refusals are not cached.
    merchant.catch(() => {
      if (remembered.get(key)?.merchant === merchant) remembered.delete(key)
    })
    return merchant
  }
}

function forgetOldest(remembered: Map<string, unknown>): void {
  const oldest = remembered.keys().next()
  if (oldest.done !== true) remembered.delete(oldest.value)
}

async function ask(
  access: Pick<Client<typeof AccessService>, 'getMerchant'>,
  projectId: string,
  merchantId: string,
): Promise<Merchant> {
  try {
    const { merchant } = await access.getMerchant({ projectId, merchantId }, withProject(projectId))
    if (merchant === undefined) throw new Error('the answer has no merchant')
    return {
      merchantId: merchant.merchantId,
      businessName: merchant.businessName,
      mobileNumber: merchant.mobileNumber,
    }
  } catch (error) {
    if (error instanceof Failure && error.reason === 'MERCHANT_NOT_FOUND') {
      throw new Failure('PW_INVALID_API_KEY', 'the merchant is unknown', { cause: error })
    }
    throw error
  }
}
