// The commands on payment requests: by the public API with the keys of a merchant, or by RPC with a bearer.
import { merchantOptions } from '../api/merchant.ts'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import {
  cancelAsMerchant,
  eventsAsMerchant,
  listAsMerchant,
  refundAsMerchant,
  showAsMerchant,
} from './merchant.ts'
import { eventsOfPayment, listPayments, showPayment } from './staff.ts'

const id = '<payment details id>'
const { url, token } = optionsFor('payments')

/** The options of commands that work with a bearer too. */
const eitherOptions = {
  ...merchantOptions,
  url: `with a bearer: ${url}`,
  token,
  merchant:
    'with a bearer: UUID of the merchant. Without --token, the bearer of sandbox.json is used',
  project: 'name in sandbox.json (demo), or with a bearer UUID of the project',
} as const

/** The commands of `payments`. */
export const paymentCommands: Command[] = [
  {
    name: 'payments list',
    operands: '',
    summary:
      'Lists payment requests of a merchant, newest first: by the keys of the merchant, or with --merchant by a bearer.',
    example: 'payments list --status paid --created-from "2026-12-01 09:30:00" --limit 5',
    options: {
      ...eitherOptions,
      'transaction-id': 'your own id of the request',
      'mobile-number': 'number of a payer',
      status: 'Pending, Partially_paid, paid, Cancelled, Expired, Failed or Refunded',
      'created-from': 'created at this time or later, "YYYY-MM-DD HH:mm:ss" in UTC',
      'created-to': 'created before this time',
      limit: 'maximum number (25)',
    },
    run: byEither(listAsMerchant, listPayments),
  },
  {
    name: 'payments show',
    operands: id,
    summary: 'Shows a payment request with its payers and what happened to it.',
    example: 'payments show 0197a9b0-3f6a-7000-8000-000000000001',
    options: eitherOptions,
    run: byEither(showAsMerchant, showPayment),
  },
  {
    name: 'payments events',
    operands: id,
    summary: 'Lists what happened to a payment request, oldest first.',
    example: 'payments events 0197a9b0-3f6a-7000-8000-000000000001 --json',
    options: eitherOptions,
    run: byEither(eventsAsMerchant, eventsOfPayment),
  },
  {
    name: 'payments cancel',
    operands: id,
    summary: 'Cancels a payment request that nobody has paid or is paying.',
    options: merchantOptions,
    run: cancelAsMerchant,
  },
  {
    name: 'payments refund',
    operands: id,
    summary: 'Refunds a paid payment request in full.',
    options: { ...merchantOptions, reason: 'why, at most 200 characters' },
    run: refundAsMerchant,
  },
]

/** Works with a bearer when one, or what only a bearer needs, was given; else with the keys of a merchant. */
function byEither(withMerchantKeys: Command['run'], withBearer: Command['run']): Command['run'] {
  return (context) => (hasBearer(context) ? withBearer(context) : withMerchantKeys(context))
}

function hasBearer({ options }: CommandContext): boolean {
  return ['url', 'token', 'merchant'].some((name) => options[name] !== undefined)
}
