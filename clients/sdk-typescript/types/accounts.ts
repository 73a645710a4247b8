// Types of accounts. Generated from the schemas of the API by `npm run schemas`.

/** The account to find. */
export type AccountLookup = {
  /** Kind of `lookup_value`. */
  lookup_type: 'MOBILE' | 'EMAIL' | 'ACCOUNT_NUMBER'
  /**
   * The mobile number, e-mail address or account number to find. Must be a string of 1 to 254
   * characters.
   */
  lookup_value: string
  /** Name of the institution. Must be a string of at most 100 characters. */
  institution_name?: string
  /** First name of the person. Must be a string of at most 100 characters. */
  first_name?: string
  /** Last name of the person. Must be a string of at most 100 characters. */
  last_name?: string
  /**
   * E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
   * "ama@example.com".
   */
  email?: string
}

/** The look-up. */
export type AccountSessionLookup = {
  /** Kind of the look-up. */
  type: 'MOBILE' | 'EMAIL' | 'ACCOUNT_NUMBER'
  /** The value that was looked up, masked. */
  value_masked: string
}

/** The account. */
export type AccountSessionAccount = {
  /** Whether the account can be used. */
  account_status: 'available' | 'unavailable'
  /** Number of the account at its institution. */
  account_number: string | null
  /** Kind of the account. */
  account_type: string
  /** First and last name of the holder. */
  display_name: string
  /** ISO 3166-1 alpha-2 code of the country. */
  country: string
}

export type AccountSessionSession = {
  /** Token of an account session. */
  session_token: string
  /** When the session expires. */
  expires_at: string
  /** Lifetime of the session in seconds. */
  ttl_seconds: number
  /** Whether the first accepted institution transaction uses up the session. */
  single_use: boolean
}

/** Reason why there is no session; absent if there is one. */
export type AccountSessionResolution = {
  /** Always false. */
  usable: false
  /** Reason why the account cannot be used. */
  reason_code: 'ACCOUNT_UNAVAILABLE'
}

/** The account that was found, and its session. */
export type AccountSession = {
  /** The `PW-request-id` of the look-up that created the session. */
  request_id: string
  /** Version of the contract. */
  version: '2024-10-01'
  /** The look-up. */
  lookup: AccountSessionLookup
  /** The account. */
  account: AccountSessionAccount
  /** The session; null if the account is unavailable. */
  session: AccountSessionSession | null
  /** Reason why there is no session; absent if there is one. */
  resolution?: AccountSessionResolution
}

/** The account to find by number, institution and name. */
export type AccountFilter = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
  /** Name of the institution. Must be a string of 1 to 100 characters. */
  institution_name: string
  /** First name of the person. Must be a string of 1 to 100 characters that is not blank. */
  first_name: string
  /** Last name of the person. Must be a string of 1 to 100 characters that is not blank. */
  last_name: string
  /**
   * E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
   * "ama@example.com".
   */
  email?: string
  /** Ignored. Must be a string of at most 100 characters. */
  sender_first_name?: string
  /** Ignored. Must be a string of at most 100 characters. */
  sender_last_name?: string
  /** `true` shows `observed_client_ip`, outside production. */
  diagnostics?: 'true' | 'false'
}

/** Whether an account can be used. */
export type AccountStatus = {
  /** Whether the account can be used. */
  account_status: 'available' | 'unavailable'
  /** Token of an account session. */
  session_token: string | null
}

/** Content of the response. */
export type BalanceData = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** ISO 4217 code. */
  currency: string
  /** Sum of all postings on the account. */
  current_balance: string
  /** Current balance minus reserved balance. */
  available_balance: string
  /** Sum of the open holds. */
  reserved_balance: string
  /** Amount that is posted but not cleared. */
  uncleared_balance: string
  /** Whether the account can be used. */
  account_status: 'available' | 'unavailable'
  /** Time of the balance. */
  as_of: string
}

/** The balance of an account. */
export type Balance = {
  /** Available balance, the same as `data.available_balance`. */
  balance: string
  /** Content of the response. */
  data: BalanceData
}

/** Which transactions of an account to list. */
export type AccountTransactionFilter = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
  /**
   * First day, or first second, of the window. Default: seven days before its end. Must be a real date
   * YYYY-MM-DD or time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
   */
  start_date?: string
  /**
   * Last day, or last second, of the window. Default: now. Must be a real date YYYY-MM-DD or time
   * YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
   */
  end_date?: string
  /** Maximum number of transactions on a page; default 50. Must be an integer from 1 to 200. */
  limit?: number
}

/** A transaction of an account. */
export type AccountTransaction = {
  /** Id of the transaction. */
  transaction_id: string
  /** Direction of the money. */
  type: 'credit' | 'debit'
  /** Decimal amount in the currency beside it. */
  amount: string
  /** ISO 4217 code. */
  currency: string
  /** Amounts of fees. */
  fees: string
  /** The client’s description of the purpose. */
  description: string
  /** `completed`, or `pending` for an open hold. */
  status: 'completed' | 'pending'
  /** Method of the transaction. */
  transaction_method: string
  /** When it was posted. */
  posted_date: string | null
  /** When it was cleared; null until then. */
  cleared_date: string | null
  /** Metadata of the client. */
  metadata: Record<string, string>
}
