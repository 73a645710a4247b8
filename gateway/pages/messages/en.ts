// The texts of hosted pages in English, which sets the keys that every other language has; no markup.

/** Everything that a page can say, in one language. */
export type Messages = { readonly [Key in keyof typeof en]: string }

/** English. `{name}` is filled in; everything else is shown as it stands. */
export const en = {
  languageName: 'English',
  chooseLanguage: 'Language',

  openTitle: 'Payment request',
  refusedTitle: 'Payment refused: you can try again',
  refusedText: 'The last attempt was refused and nothing was taken. Attempts left: {count}.',
  partOfText: 'This is your part of a request for {whole} in all.',
  partlyPaidText:
    'Others have already paid {paid} of {whole}. {rest} is still to be paid; your part of that is {amount}.',
  processingTitle: 'Your payment is being processed',
  processingText: 'Please wait and do not pay again. This page renews itself.',
  paidTitle: 'Paid',
  paidText: 'Thank you. The merchant has been told.',
  yourPartPaidTitle: 'Your part is paid',
  yourPartPaidText: 'Thank you. So far {paid} of {whole} is paid. Others still have to pay {rest}.',
  paidOfWhole: 'Paid: {paid} of {whole}',
  cancelledTitle: 'This payment request was cancelled',
  cancelledText: 'The merchant cancelled it. Nothing can be paid here any more.',
  expiredTitle: 'This payment request has expired',
  expiredText: 'The time to pay has run out. Ask the merchant for a new link.',
  failedTitle: 'This payment failed',
  failedText: 'Nothing can be paid here any more. Ask the merchant for a new link.',
  refundedTitle: 'Your money is on its way back',
  refundedText: 'The payment was refunded.',

  amount: 'Amount',
  fee: 'Fee',
  total: 'Total',
  payUntil: 'Pay until',
  waysToPay: 'Ways to pay',

  cash: 'Cash',
  card: 'Card',
  wallet: 'Mobile wallet',
  credit: 'Credit card',
  debit: 'Debit card',
  qr_code: 'QR code',
  payWith: 'Pay with: {method}',

  scanTitle: 'Scan to pay',
  scanText: 'Scan this code with the camera of a phone, or open this link:',
  qrLabel: "QR code of this page's address",

  walletTitle: 'Pay with your mobile wallet',
  pinLabel: 'Wallet PIN',
  pinHint: '4 to 12 digits',
  mistakeTitle: 'Please correct this',
  pinMistake: 'A PIN has 4 to 12 digits. Nothing was paid.',
  pay: 'Pay {total}',

  cardTitle: 'Pay by card',
  cardFrame: 'Card form of the payment provider',
  cardUnavailable: 'The card form is not available at the moment. Please try again in a minute.',

  agentTitle: 'Pay at an agent',
  agentText: 'Show this code at the counter, on the screen or printed:',
  print: 'Print this page',

  refresh: 'Refresh this page',
  backTo: 'Back to {merchant}',
  openPage: 'Open the payment page',

  notFoundTitle: 'Not found',
  notFoundText:
    'There is nothing at this address. Check the link, or ask whoever sent it for a new one.',
  unavailableTitle: 'Please try again',
  unavailableText: 'The page is not available at the moment.',
  foreignFormTitle: 'Please open the link again',
  foreignFormText: 'This form was not sent from its own page, or it is too old.',
  tooManyTitle: 'Too many requests',
  tooManyText: 'Please wait a moment and try again.',
} as const
