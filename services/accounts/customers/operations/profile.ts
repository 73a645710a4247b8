// Validates what a client states about a new customer. Pure.

import { Failure, invalid } from '#core/errors/errors.ts'
import { isCountry } from '#core/text/text.ts'
import { type CustomerSettings, requireCallbackUrl, requireCountry } from './customers.ts'

/** A new customer as the client describes them. */
export type Profile = {
  firstName: string
  lastName: string
  email: string
  mobileNumber: string
  /** As the client wrote it; callbacks echo it. */
  mobileNumberAsSent: string
  institutionName: string
  /** Both or neither are empty. */
  callbackUrl: string
  authorisationToken: string
  /** Further facts for the review, by field name of the contract. */
  details: Record<string, string>
  /** ISO 3166-1 alpha-2 code: the account's country unless the details name one. */
  originCountry: string
}

const documentFields = ['type', 'number', 'issue_date', 'expire_date', 'issued_country', 'name']

/** The fields that may stand in a profile's details. */
const detailFields: ReadonlySet<string> = new Set([
  'dob',
  'nationality',
  'occupation',
  'address_line1',
  'address_line2',
  'address_line3',
  'city',
  'state_province',
  'postal_code',
  'country',
  ...documentFields.map((field) => `id_document1_${field}`),
  ...documentFields.map((field) => `id_document2_${field}`),
  'poa_type',
  'poa_bill_date',
  'poa_name',
  'poa_address',
])

/** Checks a profile. MISSING_PARAMETER when one of callback_url and authorisation_token comes alone. */
export function checkProfile(profile: Profile, settings: CustomerSettings): void {
  for (const field of Object.keys(profile.details)) {
    if (!detailFields.has(field)) throw invalid('details', 'must be fields of a personal account')
  }
  countryOf(profile)
  const { callbackUrl, authorisationToken } = profile
  if (callbackUrl === '' && authorisationToken === '') return
  if (callbackUrl === '' || authorisationToken === '') {
    const field = callbackUrl === '' ? 'callback_url' : 'authorisation_token'
    throw new Failure('MISSING_PARAMETER', `${field} is required beside the other one`, {
      details: { field },
    })
  }
  requireCallbackUrl(callbackUrl, settings)
}

/** The country of the account that a profile asks for. Details are free text: a country that is no code stays one. */
export function countryOf({ details, originCountry }: Profile): string {
  const named = details['country'] ?? ''
  return isCountry(named) ? named : requireCountry(originCountry, 'origin_country')
}
