// The texts of hosted pages in English, which sets the keys that every other language has; no markup.

/** Everything that a page can say, in one language. */
export type Messages = { readonly [Key in keyof typeof en]: string }

/** English. `{name}` is filled in; everything else is shown as it stands. */
export const en = {
  languageName: 'English',
  chooseLanguage: 'Language',

  openTitle: 'Payment request',
  refusedTitle: 'Payment declined. You can try again',
  refusedText: 'Your last attempt was declined and you were not charged. Attempts left: {count}.',
  partOfText: 'This is your share of a total of {whole}.',
  partlyPaidText:
    'Others have paid {paid} of {whole}. {rest} remains; your share of it is {amount}.',
  processingTitle: 'Your payment is being processed',
  processingText: 'Please wait and do not pay again. This page updates automatically.',
  paidTitle: 'Paid',
  paidText: 'Thank you. The merchant has been notified.',
  yourPartPaidTitle: 'Your share is paid',
  yourPartPaidText: 'Thank you. {paid} of {whole} has been paid. Others still have to pay {rest}.',
  paidOfWhole: 'Paid: {paid} of {whole}',
  cancelledTitle: 'This payment request was cancelled',
  cancelledText: 'The merchant cancelled it. You can no longer pay here.',
  expiredTitle: 'This payment request has expired',
  expiredText: 'The time to pay has run out. Ask the merchant for a new link.',
  failedTitle: 'This payment failed',
  failedText: 'You can no longer pay here. Ask the merchant for a new link.',
  refundedTitle: 'Your payment is being refunded',
  refundedText: 'The payment was refunded.',

  amount: 'Amount',
  fee: 'Fee',
  total: 'Total',
  payUntil: 'Pay until',
  waysToPay: 'Payment methods',

  cash: 'Cash',
  card: 'Card',
  wallet: 'Mobile wallet',
  credit: 'Credit card',
  debit: 'Debit card',
  qr_code: 'QR code',
  payWith: 'Pay with: {method}',

  scanTitle: 'Scan to pay',
  scanText: 'Scan this code with a phone camera, or open this link:',
  qrLabel: "QR code of this page's address",

  walletTitle: 'Pay with your mobile wallet',
  pinLabel: 'Wallet PIN',
  pinHint: '4 to 12 digits',
  mistakeTitle: 'Please correct this',
  pinMistake: 'Enter a PIN of 4 to 12 digits. You were not charged.',
  pay: 'Pay {total}',

  cardTitle: 'Pay by card',
  cardFrame: 'Card form of the payment provider',
  cardUnavailable: 'The card form is temporarily unavailable. Please try again in a minute.',

  agentTitle: 'Pay at an agent',
  agentText: 'Show this code at the counter, on the screen or printed:',
  print: 'Print this page',

  refresh: 'Refresh this page',
  backTo: 'Back to {merchant}',
  openPage: 'Open the payment page',

  notFoundTitle: 'Not found',
  notFoundText: 'This page does not exist. Check the link, or ask the sender for a new one.',
  unavailableTitle: 'Please try again',
  unavailableText: 'This page is temporarily unavailable.',
  foreignFormTitle: 'Please open the link again',
  foreignFormText: 'This form has expired or was sent from another page.',
  tooManyTitle: 'Too many requests',
  tooManyText: 'Please wait a moment and try again.',
} as const
