// The merchants of a project: each has keys and payments of its own.
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

/** The merchant that is chosen, else the oldest; undefined where there is none. */
export function merchantOf(merchants: Merchant[], chosen: string | null): Merchant | undefined {
  return merchants.find(({ merchantId }) => merchantId === chosen) ?? merchants[0]
}

/** The choice of a merchant. */
export function merchantField(merchants: Merchant[], merchant: Merchant | undefined): Field {
  return {
    label: 'Merchant',
    name: 'merchant',
    type: 'select',
    value: merchant?.merchantId,
    options: merchants.map(({ merchantId, businessName }) => ({
      value: merchantId,
      label: businessName,
    })),
  }
}
