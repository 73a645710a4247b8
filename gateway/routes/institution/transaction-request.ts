// Reads the body of an institution transaction, in both of its shapes.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Static } from 'typebox'
import { fingerprint } from '#core/identity/digest.ts'
import { characterCount, findForbiddenCharacter } from '#core/text/text.ts'
import {
  type CreateTransactionRequestSchema,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { knownFields } from '../../http/body/schema-fields.ts'
import type { Input } from '../../http/route.ts'
import {
  checkAmount,
  checkMoment,
  invalidField,
  readAmount,
  readCurrency,
  readPhone,
} from '../../http/validate.ts'
import { institutionTransactionBody, partyLengths } from './schemas.ts'
import { readFees } from './transaction-fees.ts'

type Body = Static<typeof institutionTransactionBody>
type NewTransaction = Omit<
  MessageInitShape<typeof CreateTransactionRequestSchema>,
  '$typeName' | '$unknown' | 'projectId'
>

// The same token is sealed anew for each request: only the service can decrypt it.
const fingerprinted = knownFields(institutionTransactionBody, ['session_token_enc'])

const types = {
  p2p: TransactionType.P2P,
  inttransfer: TransactionType.INTTRANSFER,
  deposit: TransactionType.DEPOSIT,
  cashout: TransactionType.CASHOUT,
} as const satisfies Record<Body['transaction_type'], TransactionType>

/** What the service is asked for. Which currency an amount is in, only the service knows. */
export function readTransaction({ body, originCountry }: Input<unknown, Body>): NewTransaction {
  const { institution_name: institutionName, ...transferInformation } = body.transfer_information
  const time = readTime(body.transaction_date)
  const debitParty = readParty(body.debit_party, originCountry, 'debit_party')
  const creditParty = readParty(body.credit_party, originCountry, 'credit_party')
  checkAmounts(body)
  const fees = readFees(body, {
    debit: body.sender_currency ?? debitParty.currency,
    credit: creditParty.currency,
  })
  return {
    institutionName,
    token: { case: 'sessionTokenSealed', value: body.session_token_enc },
    transactionId: body.transaction_id,
    type: types[body.transaction_type],
    ...(time === undefined ? {} : { transactionTime: timestampFromDate(time) }),
    amount: body.amount,
    senderAmount: body.sender_amount ?? '',
    senderCurrency: body.sender_currency ?? '',
    description: body.description ?? '',
    fees,
    debitParty,
    creditParty,
    senderKyc: knownTexts(body.sender_kyc, ['nationality', 'full_name', 'country']),
    recipientKyc: knownTexts(body.recipient_kyc, ['nationality', 'full_name', 'country']),
    transferInformation: knownTexts(transferInformation, [
      'receiving_country',
      'remittance_purpose',
      'source_of_funds',
      'relationship_sender',
    ]),
    quoteId: body.quote_id ?? '',
    requestFingerprint: fingerprint(fingerprinted(body)),
  }
}

function readTime(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const whole = text.slice(0, 19).replace('T', ' ')
  checkMoment(whole, 'transaction_date')
  return new Date(`${whole.replace(' ', 'T')}Z`)
}

function checkAmounts({ amount, sender_amount, sender_currency }: Body): void {
  checkAmount(amount, 'amount')
  if (sender_amount !== undefined) checkAmount(sender_amount, 'sender_amount')
  if (sender_currency === undefined) return
  readCurrency(sender_currency, 'sender_currency')
  if (sender_amount !== undefined) readAmount(sender_amount, sender_currency, 'sender_amount')
}

type PartyName = keyof typeof partyLengths
type PartyFields = Partial<Record<PartyName, string>>

/** A party in either of its shapes, with its number as E.164. */
function readParty(party: Body['debit_party'], country: string, path: string) {
  const { fields, pathOf } = Array.isArray(party)
    ? joinPairs(party, path)
    : { fields: party as PartyFields, pathOf: (name: PartyName) => `${path}.${name}` }
  const { currency = '', mobile_number: number = '' } = fields
  if (currency !== '') readCurrency(currency, pathOf('currency'))
  return {
    mobileNumber: number === '' ? '' : readPhone(number, country, pathOf('mobile_number')),
    organizationId: fields.organization_id ?? '',
    accountNumber: fields.account_number ?? '',
    accountType: fields.account_type ?? '',
    currency,
    metadata: fields.metadata ?? '',
  }
}

/** Key/value pairs as an object. Unknown keys are ignored, as unknown fields are. */
function joinPairs(pairs: { key: string; value: string }[], path: string) {
  const fields: PartyFields = {}
  const paths: Partial<Record<PartyName, string>> = {}
  for (const [index, { key, value }] of pairs.entries()) {
    const pairPath = `${path}[${index}]`
    const forbidden = findForbiddenCharacter(value, { multiline: key === 'metadata' })
    if (forbidden !== undefined) {
      throw invalidField(`${pairPath}.value`, `must not contain ${forbidden}`)
    }
    if (!isPartyName(key)) continue
    if (paths[key] !== undefined) throw invalidField(`${pairPath}.key`, 'must not come twice')
    if (characterCount(value) > partyLengths[key]) {
      throw invalidField(`${pairPath}.value`, `must have at most ${partyLengths[key]} characters`)
    }
    fields[key] = value
    paths[key] = `${pairPath}.value`
  }
  return { fields, pathOf: (name: PartyName) => paths[name] ?? path }
}

function isPartyName(key: string): key is PartyName {
  return Object.hasOwn(partyLengths, key)
}

/** The fields of these names that were given. */
function knownTexts(
  given: Record<string, string | undefined> | undefined,
  names: string[],
): Record<string, string> {
  const known = names.map((name): [string, string] => [name, given?.[name] ?? ''])
  return Object.fromEntries(known.filter(([, text]) => text !== ''))
}
