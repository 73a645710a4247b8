// Calls about accounts: look-ups with sessions, profiles, consent, balance and history.
import { PageList } from './pages.ts'
import type { CallOptions, Send } from './transport.ts'
import type {
  AccountFilter,
  AccountLookup,
  AccountSession,
  AccountStatus,
  AccountTransaction,
  AccountTransactionFilter,
  Balance,
} from './types/accounts.ts'
import type {
  BusinessAccount,
  NewBusinessAccount,
  NewPersonalAccount,
  NewPersonalAccountForm,
  NewRegistration,
  PersonalAccount,
  Registration,
} from './types/profiles.ts'

const version = '2024-10-01'

/** What the API made, with the id of the call: the signed callback about it has the same `request_id`. */
type WithRequestId<T> = T & {
  /** Id of the call. The signed callback has it too. */
  request_id: string
}

/** A personal account whose review has not ended, and the id of the call that created it. */
export type CreatedAccount = WithRequestId<PersonalAccount>

/** A request that was sent to the holder, and the id of the call that sent it. */
export type SentRegistration = WithRequestId<Registration>

/** Makes the calls about accounts. Your project must be approved for them. */
export function accountCalls(send: Send) {
  const post = <T>(name: string, body: object, options?: CallOptions) =>
    send<T>({ method: 'POST', path: `/account/${name}`, version, body }, options)
  const postOnce = <T>(name: string, body: object, options?: CallOptions) =>
    send<T>({ method: 'POST', path: `/account/${name}`, version, body, isOnce: true }, options)
  const createPersonal = async (profile: object, options?: CallOptions) => {
    type Made = WithRequestId<{ data: PersonalAccount }>
    const { data, request_id } = await postOnce<Made>('personal_account', profile, options)
    return { ...data, request_id }
  }
  const get = <T>(name: string, query: Record<string, string>, options?: CallOptions) =>
    send<T>({ method: 'GET', path: `/account/${name}`, version, query }, options)

  return {
    /**
     * Finds one account and opens a session for it; `session` is null when the account is unavailable. The same
     * `requestId` with the same look-up returns the same session while it is valid.
     */
    async openSession(lookup: AccountLookup, options?: CallOptions): Promise<AccountSession> {
      return (await post<{ data: AccountSession }>('account_session', lookup, options)).data
    },

    /** Reads whether an account is available, and opens a session for it. */
    status(account: AccountFilter, options?: CallOptions): Promise<AccountStatus> {
      return get('account', account, options)
    },

    /**
     * Creates a personal account from a profile. Store a `requestId` of your own with the `authorisation_token` before the
     * call: the callback has it as `request_id`. Not repeated when its outcome is unknown: then wait for the callback, and
     * create it again if none comes. Of two profiles with one number at most one becomes available.
     */
    createPersonal(profile: NewPersonalAccount, options?: CallOptions): Promise<CreatedAccount> {
      return createPersonal(profile, options)
    },

    /** The same as `createPersonal`, with documents: JPEG, PNG or PDF, 10 MiB each and 25 MiB in all. */
    async createPersonalWithDocuments(
      profile: NewPersonalAccountForm,
      options?: CallOptions,
    ): Promise<CreatedAccount> {
      const form = new FormData()
      for (const [name, value] of Object.entries(profile)) {
        if (typeof value === 'string') form.set(name, value)
        else if (value !== undefined) form.set(name, value, name)
      }
      return await createPersonal(form, options)
    },

    /**
     * Creates a merchant of your project; its `pin`, `api_key` and `authorisation_token` are only in this response. Not
     * repeated when its outcome is unknown: a repeat would create a second merchant.
     */
    createBusiness(business: NewBusinessAccount, options?: CallOptions): Promise<BusinessAccount> {
      return postOnce('business_account', business, options)
    },

    /**
     * Asks the holder of an account to let you act for them. Store a `requestId` as for `createPersonal`. Not repeated when
     * its outcome is unknown.
     */
    register(registration: NewRegistration, options?: CallOptions): Promise<SentRegistration> {
      return postOnce('register_account', registration, options)
    },

    /** Reads the balance of an account. */
    balance(mobileNumber: string, options?: CallOptions): Promise<Balance> {
      return get('balance', { mobile_number: mobileNumber }, options)
    },

    /** Lists the transactions of an account, newest first; the last seven days unless the filter says otherwise. */
    transactions(
      filter: AccountTransactionFilter,
      options?: CallOptions,
    ): PageList<AccountTransaction> {
      return new PageList(async (cursor) => {
        type Listed = { data: { transactions: AccountTransaction[]; next_cursor: string | null } }
        const { data } = await post<Listed>('transaction_history', { ...filter, cursor }, options)
        return { items: data.transactions, nextCursor: data.next_cursor ?? undefined }
      })
    },
  }
}
