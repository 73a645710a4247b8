// The names of types: of the documents, and of the SDKs, which are made from them.

/** Better names than those of the fields on the way. */
const renamed: Record<string, string> = {
  NewPaymentFees: 'FeeRule',
  NewPaymentPayee: 'NewPayee',
  NewPaymentPayer: 'NewPayer',
  NewPaymentUrls: 'PaymentUrls',
  EndedPaymentPaymentsStatus: 'PaidAndRemaining',
  EndedPaymentFees: 'PaymentFees',
  EndedPaymentTimestamps: 'PaymentTimestamps',
  EndedPaymentPayee: 'Payee',
  PaymentSnapshotPaymentDetails: 'PaymentDetails',
  PaymentSnapshotPayer: 'PayerState',
  PaymentSnapshotTransactionRequest: 'RequestState',
  PaymentEventPayer: 'Party',
  InstitutionQuoteFees: 'TransferFees',
  NewInstitutionTransactionFees: 'NewTransferFees',
  NewInstitutionTransactionDebitParty: 'TransferParty',
  NewInstitutionTransactionSenderKyc: 'Kyc',
  NewInstitutionTransactionTransferInformation: 'TransferInformation',
  NewQuoteDebitParty: 'QuoteParty',
  TransactionSummarySender: 'MaskedParty',
}

/** The name of the type of a field; `name` consists of the names of the fields on the way. */
export function typeName(name: string): string {
  return renamed[name] ?? name
}

/** `createQuote` or `debit_party` as the name of a type. */
export function pascal(name: string): string {
  return name
    .split('_')
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}
