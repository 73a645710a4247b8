// Maps payweave.accounts.v1.CustomerService to the stores and back. Only getPersonalData shows who a customer is.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { missing } from '#core/errors/errors.ts'
import { pageOf, pageSizeOf } from '#core/paging.ts'
import { maskLookup, maskName } from '#core/text/mask.ts'
import { normalizeEmail } from '#core/text/text.ts'
import type { CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { readBalance } from '../../ledger/operations/balance.ts'
import { accountNotFound, type Customers } from '../operations/customers.ts'
import {
  type Customer,
  findCustomer,
  findCustomers,
  listOwnCustomers,
} from '../store/customer-store.ts'
import { accountMessage, lookupTypes } from './messages.ts'

/** A number may have an account at several institutions; more are of no use to a person. */
const maxFound = 10

/**
 * The handlers of CustomerService. All reject as `projectOf` and a Queryable do; those of one customer refuse an account
 * that the project does not see with ACCOUNT_NOT_FOUND.
 */
export function customerService({ db }: Customers): ServiceImpl<typeof CustomerService> {
  const existing = async (projectId: string, accountId: string) => {
    const customer = await findCustomer(db, projectId, accountId)
    if (customer === undefined) throw accountNotFound()
    return customer
  }
  return {
    async listCustomers({ projectId: requested, lookupType, lookupValue, ...page }, context) {
      const projectId = projectOf(context, requested)
      const type = lookupTypes[lookupType]
      if (type === undefined) {
        const size = pageSizeOf(page.pageSize)
        const found = await listOwnCustomers(db, projectId, page.pageToken || undefined, size + 1)
        const { rows, nextPageToken } = pageOf(found, size, ({ accountId }) => accountId)
        return { customers: rows.map(customerMessage), nextPageToken }
      }
      if (lookupValue === '') throw missing('lookup_value')
      const value = type === 'EMAIL' ? normalizeEmail(lookupValue) : lookupValue
      const found = await findCustomers(db, projectId, { type, value }, maxFound)
      return { customers: found.map(customerMessage) }
    },
    async getCustomer({ projectId: requested, accountId }, context) {
      const customer = await existing(projectOf(context, requested), accountId)
      return { customer: customerMessage(customer) }
    },
    async getPersonalData({ projectId: requested, accountId }, context) {
      const customer = await existing(projectOf(context, requested), accountId)
      const account = accountMessage(customer)
      // The ledger opens its account when the review ends well.
      if (customer.accountNumber === null) return { account }
      const { currency } = customer
      const { postedMinor, heldMinor } = await readBalance(db, { address: { accountId }, currency })
      return {
        account,
        posted: { currency, minorUnits: postedMinor },
        held: { currency, minorUnits: heldMinor },
      }
    },
  }
}

function customerMessage(customer: Customer) {
  const { accountId, institutionName, accountType, country, currency, ...shown } =
    accountMessage(customer)
  const { accountStatus, accountLevel, fundsAccessStatus, onboardingStatus } = shown
  return {
    accountId,
    institutionName,
    accountType,
    country,
    currency,
    accountStatus,
    accountLevel,
    fundsAccessStatus,
    onboardingStatus,
    nameMasked: `${maskName(customer.firstName)} ${maskName(customer.lastName)}`,
    mobileNumberMasked: maskLookup('MOBILE', customer.mobileNumber),
    emailMasked: customer.email === '' ? '' : maskLookup('EMAIL', customer.email),
    accountNumberMasked: maskLookup('ACCOUNT_NUMBER', customer.accountNumber ?? ''),
    createTime: timestampFromDate(customer.createTime),
    createdHere: customer.createdHere,
  }
}
