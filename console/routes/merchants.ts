// The merchants of a project: each has keys and payments of its own.
import { Failure } from '#core/errors/errors.ts'
import { isUuid } from '#core/identity/id.ts'
import type { Merchant } from '#gen/payweave/accounts/v1/access_pb.js'
import type { Clients } from '../clients.ts'
import type { ProjectWork } from '../http/work.ts'
import type { Field } from '../pages/blocks.ts'

const maxMerchants = 200

/** The merchants of the page's project, oldest first; the first 200 of more. */
export function merchantsOf({ project }: ProjectWork, clients: Clients): Promise<Merchant[]> {
  return merchantsIn(clients, project.projectId)
}

/** The merchants of a project, oldest first; the first 200 of more. */
export async function merchantsIn({ access }: Clients, projectId: string): Promise<Merchant[]> {
  const { merchants } = await access.listMerchants({ projectId, pageSize: maxMerchants })
  return merchants
}

/**
 * The merchant that is chosen, also one who is not among these; the oldest where none is chosen, undefined where there is none.
 * Rejects with MERCHANT_NOT_FOUND for an id that no merchant of the project has.
 */
export async function merchantOf(
  { project: { projectId } }: ProjectWork,
  { access }: Clients,
  merchants: Merchant[],
  chosen: string | null,
): Promise<Merchant | undefined> {
  if (chosen === null || chosen === '') return merchants[0]
  const listed = merchants.find(({ merchantId }) => merchantId === chosen)
  if (listed !== undefined) return listed
  if (!isUuid(chosen)) throw new Failure('MERCHANT_NOT_FOUND', 'The project has no such merchant.')
  return (await access.getMerchant({ projectId, merchantId: chosen })).merchant
}

/** The choice of a merchant, also of the chosen one who is not among these. */
export function merchantField(merchants: Merchant[], merchant: Merchant | undefined): Field {
  const isListed = merchants.some(({ merchantId }) => merchantId === merchant?.merchantId)
  const shown = merchant === undefined || isListed ? merchants : [...merchants, merchant]
  return {
    label: 'Merchant',
    name: 'merchant',
    type: 'select',
    value: merchant?.merchantId,
    options: shown.map(({ merchantId, businessName }) => ({
      value: merchantId,
      label: businessName,
    })),
  }
}
