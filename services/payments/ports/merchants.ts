// Looks up merchants and caches them for a minute.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { AccessService } from '#gen/payweave/accounts/v1/access_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { ttlCache } from '#platform/rpc/client/ttl-cache.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Merchant } from '../domain/new-payment.ts'

/** Finds a merchant of a project. PW_INVALID_API_KEY when the project has no such merchant. */
export type FindMerchant = (projectId: string, merchantId: string) => Promise<Merchant>

const merchantTtlMs = 60_000
const maxMerchants = 10_000

/** Makes the function that finds merchants. Concurrent calls share one look-up; a failure or refusal is not cached. */
export function merchantFinder(
  access: Pick<Client<typeof AccessService>, 'getMerchant'>,
  nowMs: () => number = () => performance.now(),
): FindMerchant {
  const merchants = ttlCache<Merchant>({
    ttlMs: () => merchantTtlMs,
    refusedTtlMs: () => 0,
    maxEntries: maxMerchants,
    nowMs,
  })
  return async (projectId, merchantId) =>
    merchants.get(`${projectId} ${merchantId}`, () =>
      // Callers share this look-up, so it has the deadline and the abort of none of them.
      runDetached(() => lookUp(access, projectId, merchantId)),
    )
}

async function lookUp(
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
