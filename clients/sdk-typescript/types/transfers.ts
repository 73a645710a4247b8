// Types of quotes and institution transactions. Generated from the schemas of the API by `npm run schemas`.

/** The party that pays. */
export type QuoteParty = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a string of at most 32 characters.
   */
  mobile_number?: string
  /** Organization of the party. Must be a string of at most 100 characters. */
  organization_id?: string
  /** Number of the account at its institution. Must be a string of at most 64 characters. */
  account_number?: string
  /** Kind of the account. Must be a string of at most 64 characters. */
  account_type?: string
  /** ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD". */
  currency?: string
  /** ISO 3166-1 alpha-2 code of the country. Must be a string of at most 100 characters. */
  country?: string
  /** Metadata of the client. Must be a text of at most 1000 characters or an object. */
  metadata?: string | Record<string, unknown>
}

/** An amount to convert into the currency of the other party. */
export type NewQuote = {
  /** Token of an account session. Must be a string of 1 to 16384 characters. */
  session_token: string
  /** Name of the institution. Must be a string of 1 to 100 characters. */
  institution_name: string
  /**
   * Amount to quote. Must be a decimal string such as "100.00", of at most 15 digits before the point
   * and 4 after it.
   */
  request_amount: string
  /** Currency of `request_amount`. Must be an ISO 4217 currency code, such as "TTD". */
  request_currency: string
  /** The party that pays. */
  debit_party?: QuoteParty
  /** The party that receives the money. */
  credit_party?: QuoteParty
}

/** A new quote. */
export type Quote = {
  /** Id of the quote. */
  quote_id: string
  /** Quoted units for one requested unit. */
  rate: string
  /** Value of the requested amount in the quoted currency. */
  amount_quoted: string
  /** When the quote was created. */
  quote_date: string
  /** When the quote expires. */
  expire_date: string
}

/** A quote that was read. */
export type QuoteState = {
  /** Quoted units for one requested unit. */
  rate: string
  /** Day on which the quote was created. */
  request_date: string
  /** When the quote was created. */
  quote_date: string
  /** Value of the requested amount in the quoted currency. */
  amount_quoted: string
  /** When the quote expires. */
  expire_date: string
}

/** An amount to convert into the currency of the account of the session. */
export type NewInstitutionQuote = {
  /** Token of an account session. Must be a string of 1 to 16384 characters. */
  session_token: string
  /** Name of the institution. Must be a string of 1 to 100 characters. */
  institution_name: string
  /**
   * Amount to quote. Must be a decimal string such as "100.00", of at most 15 digits before the point
   * and 4 after it.
   */
  request_amount: string
  /** Currency of `request_amount`. Must be an ISO 4217 currency code, such as "TTD". */
  request_currency: string
}

/** Amounts of fees. */
export type TransferFees = {
  /** Sum of the fees. */
  total: string
  /** Convenience fee. */
  convenience: string
  /** Fee added to the debit. */
  sender_pays: string
  /** Fee deducted from the credit. */
  recipient_pays: string
}

/** A new quote of an institution. */
export type InstitutionQuote = {
  /** Id of the quote. */
  quote_id: string
  /** Quoted units for one requested unit. */
  rate: string
  /** Amount to quote. */
  request_amount: string
  /** Currency of `request_amount`. */
  request_currency: string
  /** Value of the requested amount in the quoted currency. */
  amount_quoted: string
  /** Currency of `amount_quoted`. */
  quoted_currency: string
  /** Amounts of fees. */
  fees: TransferFees
  /** When the quote was created. */
  quote_date: string
  /** When the quote expires. */
  expire_date: string
}

/** A quote of an institution with its state. */
export type InstitutionQuoteState = {
  /** Id of the quote. */
  quote_id: string
  /** Quoted units for one requested unit. */
  rate: string
  /** Amount to quote. */
  request_amount: string
  /** Currency of `request_amount`. */
  request_currency: string
  /** Value of the requested amount in the quoted currency. */
  amount_quoted: string
  /** Currency of `amount_quoted`. */
  quoted_currency: string
  /** Amounts of fees. */
  fees: TransferFees
  /** When the quote was created. */
  quote_date: string
  /** When the quote expires. */
  expire_date: string
  /** Day on which the quote was created. */
  request_date: string
  /** State of the quote. */
  quote_status: 'active' | 'used' | 'expired'
  /** Id of the transaction. */
  transaction_id: string | null
  /** Receipt of the transaction. */
  institution_receipt_id: string | null
  /** State of the transaction. */
  transaction_status: 'pending' | 'completed' | 'failed' | 'cancelled' | null
}

export type NewTransferFees = {
  /**
   * Sum of the fees. Must be a decimal string such as "100.00", of at most 15 digits before the point
   * and 4 after it.
   */
  total?: string
  /**
   * Convenience fee. Must be a decimal string such as "100.00", of at most 15 digits before the point
   * and 4 after it.
   */
  convenience?: string
  /**
   * Fee added to the debit. Must be a decimal string such as "100.00", of at most 15 digits before the
   * point and 4 after it.
   */
  sender_pays?: string
  /**
   * Fee deducted from the credit. Must be a decimal string such as "100.00", of at most 15 digits before
   * the point and 4 after it.
   */
  recipient_pays?: string
}

export type NewInstitutionTransactionFeesEntry = {
  /** Kind of this fee; entries of one kind are summed. Must be a string of 1 to 64 characters. */
  fee_type: string
  /**
   * Amount of this fee. Must be a decimal string such as "100.00", of at most 15 digits before the point
   * and 4 after it.
   */
  fee_amount: string
  /** Currency of this fee. Must be an ISO 4217 currency code, such as "TTD". */
  fee_currency: string
}

export type TransferParty = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a string of at most 32 characters.
   */
  mobile_number?: string
  /** Organization of the party. Must be a string of at most 100 characters. */
  organization_id?: string
  /** Number of the account at its institution. Must be a string of at most 64 characters. */
  account_number?: string
  /** Kind of the account. Must be a string of at most 64 characters. */
  account_type?: string
  /** ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD". */
  currency?: string
  /** Metadata of the client. Must be a string of at most 1000 characters. */
  metadata?: string
}

export type NewInstitutionTransactionDebitPartyEntry = {
  /** Name of a field of the party. Must be a string of 1 to 64 characters. */
  key: string
  /** Value of a field of the party. Must be a string of at most 1000 characters. */
  value: string
}

/** KYC data of the sender. */
export type Kyc = {
  /** Nationality of the person. Must be a string of at most 100 characters. */
  nationality?: string
  /** Full name of the person. Must be a string of at most 200 characters. */
  full_name?: string
  /** ISO 3166-1 alpha-2 code of the country. Must be a string of at most 100 characters. */
  country?: string
}

/** Institution, purpose and other details of the transfer. */
export type TransferInformation = {
  /** Name of the institution; needs a grant. Must be a string of 1 to 100 characters. */
  institution_name: string
  /** Country that receives the money. Must be a string of at most 100 characters. */
  receiving_country?: string
  /** Purpose of the transfer. Must be a string of at most 255 characters. */
  remittance_purpose?: string
  /** Source of the funds. Must be a string of at most 255 characters. */
  source_of_funds?: string
  /** Relationship of the sender to the recipient. Must be a string of at most 255 characters. */
  relationship_sender?: string
}

/** A new institution transaction. `transaction_id` is yours: the same one is one transaction. */
export type NewInstitutionTransaction = {
  /**
   * The session token, sealed under the shared key of the institution. Must be a string of 1 to 16384
   * characters.
   */
  session_token_enc: string
  /** Id of the transaction. Must be a string of 1 to 64 characters. */
  transaction_id: string
  /** Date of the transaction, as the client states it. Must be YYYY-MM-DD HH:mm:ss or ISO 8601 in UTC. */
  transaction_date?: string
  /**
   * Decimal amount in the currency beside it. Must be a decimal string such as "100.00", of at most 15
   * digits before the point and 4 after it.
   */
  amount: string
  /** Currency of `sender_amount`. Must be an ISO 4217 currency code, such as "TTD". */
  sender_currency?: string
  /**
   * Amount that the debit party pays. Default: `amount`. Must be a decimal string such as "100.00", of
   * at most 15 digits before the point and 4 after it.
   */
  sender_amount?: string
  /** The client’s description of the purpose. Must be a string of at most 1000 characters. */
  description?: string
  /** Kind of the transaction. */
  transaction_type: 'p2p' | 'inttransfer' | 'deposit' | 'cashout'
  /** Amounts of fees. Must be an object of amounts or a list of fee_type, fee_amount and fee_currency. */
  fees?: NewTransferFees | NewInstitutionTransactionFeesEntry[]
  /** The party that pays. Must be an object or a list of key/value pairs of texts. */
  debit_party: TransferParty | NewInstitutionTransactionDebitPartyEntry[]
  /** The party that receives the money. Must be an object or a list of key/value pairs of texts. */
  credit_party: TransferParty | NewInstitutionTransactionDebitPartyEntry[]
  /** KYC data of the sender. */
  sender_kyc?: Kyc
  /** KYC data of the recipient. */
  recipient_kyc?: Kyc
  /** Id of the quote. Must be a string of 1 to 255 characters. */
  quote_id?: string
  /** Institution, purpose and other details of the transfer. */
  transfer_information: TransferInformation
}

/** The receipt of an institution transaction. */
export type Receipt = {
  /** Receipt of the transaction. */
  institution_receipt_id: string
}

/** The state of an institution transaction. */
export type InstitutionTransaction = {
  /** Id of the transaction. */
  transaction_id: string
  /** Receipt of the transaction. */
  institution_receipt_id: string
  /** Kind of the transaction. */
  transaction_type: 'p2p' | 'inttransfer' | 'deposit' | 'cashout'
  /** State of the transaction. */
  transaction_status: 'pending' | 'completed' | 'failed' | 'cancelled'
  /** ISO 4217 code. */
  currency: string
  /** Decimal amount in the currency beside it. */
  amount: string
  /** Name of the institution. */
  institution_name: string
}

/** Which institution transactions to list. */
export type TransactionFilter = {
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
  start_datetime?: string
  /**
   * Last day, or last second, of the window. Default: now. Must be a real date YYYY-MM-DD or time
   * YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
   */
  end_datetime?: string
  /** Maximum number of transactions on a page; default 50. Must be an integer from 1 to 200. */
  limit?: number
}

/** The debit party, masked. */
export type MaskedParty = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string | null
  /** Number of the account at its institution. */
  account_number: string | null
}

/** An institution transaction in a list. */
export type TransactionSummary = {
  /** Id of the transaction. */
  transaction_id: string
  /** Receipt of the transaction. */
  institution_receipt_id: string
  /** Kind of the transaction. */
  transaction_type: 'p2p' | 'inttransfer' | 'deposit' | 'cashout'
  /** State of the transaction. */
  transaction_status: 'pending' | 'completed' | 'failed' | 'cancelled'
  /** Decimal amount in the currency beside it. */
  amount: string
  /** ISO 4217 code. */
  currency: string
  /** Amount that the debit party pays. Default: `amount`. */
  sender_amount: string
  /** Currency of `sender_amount`. */
  sender_currency: string
  /** Amounts of fees. */
  fees: TransferFees
  /** Id of the quote. */
  quote_id: string | null
  /** The client’s description of the purpose. */
  description: string
  /** When it was posted. */
  posted_date: string | null
  /** When it was cleared; null until then. */
  cleared_date: string | null
  /** The debit party, masked. */
  sender: MaskedParty
  /** The credit party, masked. */
  recipient: MaskedParty
}
