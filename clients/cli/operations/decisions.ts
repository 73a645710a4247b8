// The commands that decide on what waits for a person: new customers, failed refunds, refused settlements; and who works on it.
import { ItemClaimService, ItemKind } from '#gen/payweave/accounts/v1/item_claim_pb.js'
import {
  FundsAccessStatus,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import {
  type DecideOnboardingRequest,
  OnboardingService,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { SettlementPostingService } from '#gen/payweave/accounts/v1/settlement_posting_pb.js'
import { PaymentOperationsService } from '#gen/payweave/payments/v1/operations_pb.js'
import { oneOperand } from '../access.ts'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { printable, time, valueOf, wordOf } from '../output/print.ts'
import { UsageError } from '../usage-error.ts'

const accounts = optionsFor('accounts')
const reason = { reason: 'on what evidence, for our own people' } as const
const item = {
  kind: 'onboarding, bill, refund, suspense, settlement or dead_letter',
} as const
const levels = new Set(['0', '1', '2'])

/** The commands that decide. */
export const decisionCommands: Command[] = [
  {
    name: 'onboarding accept',
    operands: '<review id>',
    summary: 'Accepts the profile of a new customer.',
    options: {
      ...accounts,
      level: 'level of the account: 0, 1 or 2',
      'funds-access': 'none, limited or full',
      currency: 'currency of the account, if not that of the institution',
      ...reason,
    },
    run: (context) => decide(context, acceptedBy(context)),
  },
  {
    name: 'onboarding reject',
    operands: '<review id>',
    summary: 'Rejects the profile of a new customer.',
    options: { ...accounts, ...reason },
    run: (context) => decide(context, { case: 'rejected', value: true }),
  },
  {
    name: 'refund settle',
    operands: '<refund id>',
    summary: 'Takes a failed refund off the list, since its payer was paid by hand.',
    options: { ...optionsFor('payments'), note: 'how the payer was paid' },
    run: settle,
  },
  {
    name: 'ledger retry',
    operands: '<settlement id>',
    summary: 'Posts a refused settlement once more; exits with 1 when it is refused again.',
    options: accounts,
    run: retrySettlement,
  },
  {
    name: 'ledger post',
    operands: '<payment id>',
    summary:
      'Posts what the ledger lacks of a payment, such as the refund of money in suspense; exits with 1 when it refuses some.',
    options: accounts,
    run: postPayment,
  },
  {
    name: 'claim take',
    operands: '<item id>',
    summary: 'Shows others that you work on an item of the inbox.',
    options: { ...accounts, ...item, from: 'take it over from this holder' },
    run: (context) => changeClaim(context, 'claimed'),
  },
  {
    name: 'claim release',
    operands: '<item id>',
    summary: 'Releases an item that you have claimed.',
    options: { ...accounts, ...item },
    run: (context) => changeClaim(context, 'released'),
  },
]

async function within(
  { options, env }: CommandContext,
  part: 'accounts' | 'payments',
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const connection = connect(options, env, part)
  try {
    await work(connection)
  } finally {
    await connection.close()
  }
}

function required({ options }: CommandContext, name: string): string {
  const value = options[name]
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

type Outcome = DecideOnboardingRequest['outcome']

function acceptedBy(context: CommandContext): Outcome {
  const level = required(context, 'level')
  if (!levels.has(level)) throw new UsageError('--level must be 0, 1 or 2')
  const access = required(context, 'funds-access')
  const value = {
    accountLevel: Number(level),
    fundsAccessStatus: valueOf(FundsAccessStatus, access, 'funds-access'),
    currency: context.options['currency']?.toUpperCase() ?? '',
  }
  return { case: 'completed', value } as Outcome
}

function decide(context: CommandContext, outcome: Outcome): Promise<void> {
  const reviewId = oneOperand(context, 'review id')
  const wanted = { reviewId, outcome, reason: required(context, 'reason') }
  return within(context, 'accounts', async (connection) => {
    const { status } = await connection.client(OnboardingService).decideOnboarding(wanted)
    const word = wordOf(OnboardingStatus, status)
    context.print(
      context.json
        ? JSON.stringify({ review_id: reviewId, status: word })
        : `the review ${reviewId} is ${word}`,
    )
  })
}

function settle(context: CommandContext): Promise<void> {
  const wanted = { refundId: oneOperand(context, 'refund id'), note: required(context, 'note') }
  return within(context, 'payments', async (connection) => {
    const { settleTime } = await connection.client(PaymentOperationsService).settleRefund(wanted)
    const when = time(settleTime)
    context.print(
      context.json
        ? JSON.stringify({ refund_id: wanted.refundId, settle_time: when })
        : `the refund ${wanted.refundId} was paid by hand, as said first at ${when}`,
    )
  })
}

function retrySettlement(context: CommandContext): Promise<void> {
  const settlementId = oneOperand(context, 'settlement id')
  return within(context, 'accounts', async (connection) => {
    const posting = connection.client(SettlementPostingService)
    const { refused } = await posting.retrySettlement({ settlementId })
    if (refused !== undefined) throw new Error(`refused again: ${printable(refused.reason)}`)
    context.print(
      context.json
        ? JSON.stringify({ settlement_id: settlementId, state: 'posted' })
        : `the ledger has the settlement ${settlementId}`,
    )
  })
}

function postPayment(context: CommandContext): Promise<void> {
  const paymentId = oneOperand(context, 'payment id')
  return within(context, 'accounts', async (connection) => {
    const posting = connection.client(SettlementPostingService)
    const { postedCount, refused } = await posting.postPaymentSettlements({ paymentId })
    const reasons = refused.map(({ reason: why }) => printable(why))
    if (reasons.length > 0) throw new Error(`refused: ${reasons.join('; ')}`)
    context.print(
      context.json
        ? JSON.stringify({ payment_id: paymentId, posted_count: postedCount })
        : `posted ${postedCount}: the ledger has all settlements of the payment ${paymentId}`,
    )
  })
}

function changeClaim(context: CommandContext, state: 'claimed' | 'released'): Promise<void> {
  const itemId = oneOperand(context, 'item id')
  const kind = valueOf(ItemKind, required(context, 'kind'), 'kind')
  return within(context, 'accounts', async (connection) => {
    const claims = connection.client(ItemClaimService)
    const of = { kind, itemId }
    if (state === 'released') await claims.releaseItem({ item: of })
    else await claims.claimItem({ item: of, takeOverFrom: context.options['from'] ?? '' })
    context.print(
      context.json ? JSON.stringify({ item_id: itemId, state }) : `the item ${itemId} is ${state}`,
    )
  })
}
