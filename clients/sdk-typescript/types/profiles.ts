// Types of new accounts and registrations. Generated from the schemas of the API by `npm run schemas`.

/** The profile of a new personal account. */
export type NewPersonalAccount = {
  /** First name of the person. Must be a string of 1 to 100 characters that is not blank. */
  first_name: string
  /** Last name of the person. Must be a string of 1 to 100 characters that is not blank. */
  last_name: string
  /**
   * E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
   * "ama@example.com".
   */
  email: string
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
  /** Name of the institution. Must be a string of 1 to 100 characters. */
  institution_name: string
  /** URL of the signed callback: public https. Must be a string of 1 to 200 characters. */
  callback_url?: string
  /**
   * A secret of yours that the signed callback returns, sealed. Send it together with `callback_url`.
   * Must be a string of 10 to 40 characters.
   */
  authorisation_token?: string
}

/** The profile of a new personal account, with documents. */
export type NewPersonalAccountForm = {
  /** First name of the person. Must be a string of 1 to 100 characters that is not blank. */
  first_name: string
  /** Last name of the person. Must be a string of 1 to 100 characters that is not blank. */
  last_name: string
  /**
   * E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
   * "ama@example.com".
   */
  email: string
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
  /** Name of the institution. Must be a string of 1 to 100 characters. */
  institution_name: string
  /** URL of the signed callback: public https. Must be a string of 1 to 200 characters. */
  callback_url?: string
  /**
   * A secret of yours that the signed callback returns, sealed. Send it together with `callback_url`.
   * Must be a string of 10 to 40 characters.
   */
  authorisation_token?: string
  /** Date of birth. Must be a string of at most 255 characters. */
  dob?: string
  /** Nationality of the person. Must be a string of at most 255 characters. */
  nationality?: string
  /** Occupation of the person. Must be a string of at most 255 characters. */
  occupation?: string
  /** First line of the address. Must be a string of at most 255 characters. */
  address_line1?: string
  /** Second line of the address. Must be a string of at most 255 characters. */
  address_line2?: string
  /** Third line of the address. Must be a string of at most 255 characters. */
  address_line3?: string
  /** City of the address. Must be a string of at most 255 characters. */
  city?: string
  /** State or province of the address. Must be a string of at most 255 characters. */
  state_province?: string
  /** Postal code of the address. Must be a string of at most 255 characters. */
  postal_code?: string
  /** ISO 3166-1 alpha-2 code of the country. Must be a string of at most 255 characters. */
  country?: string
  /** Kind of identity document 1. Must be a string of at most 255 characters. */
  id_document1_type?: string
  /** Number of identity document 1. Must be a string of at most 255 characters. */
  id_document1_number?: string
  /** Date of issue of identity document 1. Must be a string of at most 255 characters. */
  id_document1_issue_date?: string
  /** Date of expiry of identity document 1. Must be a string of at most 255 characters. */
  id_document1_expire_date?: string
  /** Country of issue of identity document 1. Must be a string of at most 255 characters. */
  id_document1_issued_country?: string
  /** Name of identity document 1. Must be a string of at most 255 characters. */
  id_document1_name?: string
  /** Kind of identity document 2. Must be a string of at most 255 characters. */
  id_document2_type?: string
  /** Number of identity document 2. Must be a string of at most 255 characters. */
  id_document2_number?: string
  /** Date of issue of identity document 2. Must be a string of at most 255 characters. */
  id_document2_issue_date?: string
  /** Date of expiry of identity document 2. Must be a string of at most 255 characters. */
  id_document2_expire_date?: string
  /** Country of issue of identity document 2. Must be a string of at most 255 characters. */
  id_document2_issued_country?: string
  /** Name of identity document 2. Must be a string of at most 255 characters. */
  id_document2_name?: string
  /** Kind of the proof of address. Must be a string of at most 255 characters. */
  poa_type?: string
  /** Date of the proof of address. Must be a string of at most 255 characters. */
  poa_bill_date?: string
  /** Name on the proof of address. Must be a string of at most 255 characters. */
  poa_name?: string
  /** Address on the proof of address. Must be a string of at most 255 characters. */
  poa_address?: string
  /** JPEG, PNG or PDF by its content, 10 MiB at most. */
  id_document1_file?: Blob
  /** JPEG, PNG or PDF by its content, 10 MiB at most. */
  id_document2_file?: Blob
  /** JPEG, PNG or PDF by its content, 10 MiB at most. */
  poa_file?: Blob
  /** JPEG, PNG or PDF by its content, 10 MiB at most. */
  selfie?: Blob
}

/** A personal account whose review has not ended. */
export type PersonalAccount = {
  /** Id of the account. */
  account_id: string
  /** Whether the account can be used. */
  account_status: 'pending_review'
  /** Kind of the account. */
  account_type: string
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** E-mail address of the account. */
  email: string
}

/** A new merchant. */
export type NewBusinessAccount = {
  /** Name of the merchant, shown to payers. Must be a string of 1 to 100 characters. */
  business_name: string
  /** First name of the person. Must be a string of 1 to 100 characters that is not blank. */
  first_name: string
  /** Last name of the person. Must be a string of 1 to 100 characters that is not blank. */
  last_name: string
  /**
   * E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
   * "ama@example.com".
   */
  email: string
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
}

/** The credentials of a new merchant. No other response has them. */
export type BusinessAccount = {
  /** Six digits for the merchant, shown only in this response. */
  pin: number
  /** Key of the merchant. */
  api_key: string
  /** A secret of yours that the signed callback returns, sealed. Send it together with `callback_url`. */
  authorisation_token: string
}

/** A request to the holder of an account to let you act for them. */
export type NewRegistration = {
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
  /** Token of an account session. Must be a string of 1 to 16384 characters. */
  session_token: string
  /**
   * A secret of yours that the signed callback returns, sealed. Send it together with `callback_url`.
   * Must be a string of 10 to 40 characters.
   */
  authorisation_token: string
  /** URL of the signed callback: public https. Must be a string of 1 to 200 characters. */
  callback_url: string
}

/** A request that was sent to the holder. */
export type Registration = {
  /** Id of the challenge. The holder has ten minutes to answer it. */
  challengeId: string
}
