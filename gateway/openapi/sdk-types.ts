// Which parts of the documents are types of the SDKs, and by which names.

/** One type: a name, what it is, and the location of its schema. */
export type Source = {
  name: string
  says: string
  /** Id of an operation, or the name of a push. */
  of: string
  /** Its query, its body, or its response of this status. */
  part: 'query' | 'body' | 'form' | 200 | 201 | 202
  /** Fields on the way to the schema; `[]` enters the items of a list. */
  path?: string[]
  /** Fields of the envelope that belong to the type. */
  keeps?: string[]
  /** Names of the kinds where the schema is a choice. */
  kinds?: string[]
}

/** The types of one file. */
export type SourceFile = { file: string; says: string; sources: Source[] }

export const sourceFiles: SourceFile[] = [
  {
    file: 'payments',
    says: 'payment requests',
    sources: [
      {
        name: 'NewPayment',
        says: 'A new payment request. `id` is yours: the same `id` is one payment, however often it is sent.',
        of: 'createPaymentRequest',
        part: 'body',
        path: ['transaction_request'],
      },
      {
        name: 'CreatedPayment',
        says: 'A payment request that was created.',
        of: 'createPaymentRequest',
        part: 200,
        path: ['payment_details'],
      },
      {
        name: 'EndedPayment',
        says: 'A payment request after it was cancelled or refunded.',
        of: 'cancelPaymentRequest',
        part: 200,
        path: ['payment_details'],
      },
      {
        name: 'PaymentSnapshot',
        says: 'The current state of a payment request.',
        of: 'getPaymentStatus',
        part: 200,
      },
    ],
  },
  {
    file: 'lists',
    says: 'lists and the history of payment requests',
    sources: [
      {
        name: 'PaymentFilter',
        says: 'Which payment requests to list.',
        of: 'listPayments',
        part: 'query',
      },
      {
        name: 'PaymentSummary',
        says: 'A payment request in a list.',
        of: 'listPayments',
        part: 200,
        path: ['payments', '[]'],
      },
      {
        name: 'PaymentEvent',
        says: 'One entry of the history of a payment request.',
        of: 'listPaymentEvents',
        part: 200,
        path: ['events', '[]'],
      },
    ],
  },
  {
    file: 'pushes',
    says: 'pushes',
    sources: [
      {
        name: 'DeliveryFilter',
        says: 'Which pushes to list.',
        of: 'listDeliveries',
        part: 'query',
      },
      {
        name: 'DeliverySummary',
        says: 'A push in a list.',
        of: 'listDeliveries',
        part: 200,
        path: ['deliveries', '[]'],
      },
      {
        name: 'Delivery',
        says: 'A push with its attempts and its body.',
        of: 'getDelivery',
        part: 200,
        path: ['delivery'],
      },
      {
        name: 'Notify',
        says: 'A push about one step of a payment request.',
        of: 'notify',
        part: 'body',
        kinds: ['InvitationNotify', 'PayerNotify', 'PayeeNotify'],
      },
      {
        name: 'PaymentCallback',
        says: 'A push about a payment request that has ended or was refunded.',
        of: 'callback',
        part: 'body',
      },
      {
        name: 'OnboardingCallback',
        says: 'The end of an onboarding or of a registration.',
        of: 'onboarding',
        part: 'body',
      },
    ],
  },
  {
    file: 'accounts',
    says: 'accounts',
    sources: [
      {
        name: 'AccountLookup',
        says: 'The account to find.',
        of: 'openAccountSession',
        part: 'body',
      },
      {
        name: 'AccountSession',
        says: 'The account that was found, and its session.',
        of: 'openAccountSession',
        part: 200,
        path: ['data'],
      },
      {
        name: 'AccountFilter',
        says: 'The account to find by number, institution and name.',
        of: 'getAccountStatus',
        part: 'query',
      },
      {
        name: 'AccountStatus',
        says: 'Whether an account can be used.',
        of: 'getAccountStatus',
        part: 200,
      },
      { name: 'Balance', says: 'The balance of an account.', of: 'getAccountBalance', part: 200 },
      {
        name: 'AccountTransactionFilter',
        says: 'Which transactions of an account to list.',
        of: 'listAccountTransactions',
        part: 'body',
      },
      {
        name: 'AccountTransaction',
        says: 'A transaction of an account.',
        of: 'listAccountTransactions',
        part: 200,
        path: ['data', 'transactions', '[]'],
      },
    ],
  },
  {
    file: 'profiles',
    says: 'new accounts and registrations',
    sources: [
      {
        name: 'NewPersonalAccount',
        says: 'The profile of a new personal account.',
        of: 'createPersonalAccount',
        part: 'body',
      },
      {
        name: 'NewPersonalAccountForm',
        says: 'The profile of a new personal account, with documents.',
        of: 'createPersonalAccount',
        part: 'form',
      },
      {
        name: 'PersonalAccount',
        says: 'A personal account whose review has not ended.',
        of: 'createPersonalAccount',
        part: 200,
        path: ['data'],
      },
      {
        name: 'NewBusinessAccount',
        says: 'A new merchant.',
        of: 'createBusinessAccount',
        part: 'body',
      },
      {
        name: 'BusinessAccount',
        says: 'The credentials of a new merchant. No other response has them.',
        of: 'createBusinessAccount',
        part: 200,
      },
      {
        name: 'NewRegistration',
        says: 'A request to the holder of an account to let you act for them.',
        of: 'registerAccount',
        part: 'body',
      },
      {
        name: 'Registration',
        says: 'A request that was sent to the holder.',
        of: 'registerAccount',
        part: 200,
      },
    ],
  },
  {
    file: 'transfers',
    says: 'quotes and institution transactions',
    sources: [
      {
        name: 'NewQuote',
        says: 'An amount to convert into the currency of the other party.',
        of: 'createQuote',
        part: 'body',
      },
      { name: 'Quote', says: 'A new quote.', of: 'createQuote', part: 200 },
      { name: 'QuoteState', says: 'A quote that was read.', of: 'getQuote', part: 200 },
      {
        name: 'NewInstitutionQuote',
        says: 'An amount to convert into the currency of the account of the session.',
        of: 'createInstitutionQuote',
        part: 'body',
      },
      {
        name: 'InstitutionQuote',
        says: 'A new quote of an institution.',
        of: 'createInstitutionQuote',
        part: 200,
      },
      {
        name: 'InstitutionQuoteState',
        says: 'A quote of an institution with its state.',
        of: 'getInstitutionQuote',
        part: 200,
      },
      {
        name: 'NewInstitutionTransaction',
        says: 'A new institution transaction. `transaction_id` is yours: the same one is one transaction.',
        of: 'createInstitutionTransaction',
        part: 'body',
      },
      {
        name: 'Receipt',
        says: 'The receipt of an institution transaction.',
        of: 'createInstitutionTransaction',
        part: 200,
      },
      {
        name: 'InstitutionTransaction',
        says: 'The state of an institution transaction.',
        of: 'getInstitutionTransaction',
        part: 200,
      },
      {
        name: 'TransactionFilter',
        says: 'Which institution transactions to list.',
        of: 'listInstitutionTransactions',
        part: 'query',
      },
      {
        name: 'TransactionSummary',
        says: 'An institution transaction in a list.',
        of: 'listInstitutionTransactions',
        part: 200,
        path: ['data', 'transactions', '[]'],
      },
    ],
  },
  {
    file: 'bills',
    says: 'bill payments',
    sources: [
      { name: 'NewBill', says: 'A bill to pay.', of: 'payBill', part: 'body' },
      { name: 'BillPaid', says: 'The outcome of a bill payment.', of: 'payBill', part: 201 },
      {
        name: 'BillAccepted',
        says: 'A bill payment without an outcome: the biller has not answered.',
        of: 'payBill',
        part: 202,
      },
      {
        name: 'BillStatus',
        says: 'The state of a bill payment.',
        of: 'getBillPaymentStatus',
        part: 200,
      },
      {
        name: 'BillReceipt',
        says: 'The receipt of a bill payment.',
        of: 'getBillPaymentReceipt',
        part: 200,
        keeps: ['timestamp'],
      },
    ],
  },
]
