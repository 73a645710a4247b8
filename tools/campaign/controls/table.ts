// The controls of a campaign: planted defects, each with the operations and faults that expose it and the rule that it breaks.
import { defects, type Planted } from '../../../test/defects/defects.ts'
import type { Kind } from '../load/records.ts'
import { ofCampaign } from './defects.ts'

/** One planted defect and the campaign that finds it. */
export type Control = {
  defect: Planted
  /** The rule by which it is found, in the words of the checks. */
  rule: string
  /** Operations that expose it. */
  kinds: readonly Kind[]
  /** Rows of the table of faults, comma-separated; none if not given. */
  faults?: string
  minutes?: number
  ratePerS?: number
  patienceS?: number
  seed?: number
  /** Multiplies the limits of recovery, for a defect that is found by one; 1 if not given. */
  slack?: number
}

const outcome = 'operations whose outcome is against the contract'
const readBack = 'operations that are read back otherwise'
const pushes = 'payments and accounts without exactly their pushes'
const undocumentedPush = 'pushes that the documents do not show'
const money = 'payments whose money is not what was promised'
const bills = 'bill payments whose biller, ledger and state differ'
const balances = 'balances that are not the sum of what was answered'
const ledger = 'rules of the ledger'
const bytes = 'deliveries whose bytes changed'
const unaccepted = 'deliveries that came and were never accepted'
const undocumented = 'answers that the documents do not show'
const settlements =
  'settlements without their transfer in the ledger, or transfers of payments without settlement'
const left = 'payments that are over and leave money in held or suspense'
const limits = 'use of limits that is not the sum of the movements'
const unfinished = 'work that did not end'
const serverError = 'answers with 500 or another status that means a defect'
const givenUp = 'pushes that were given up'
const refusedEvents = 'events that were refused'
const refunds = 'refunds that the back end and our records do not both have'
const notAgain = 'kinds of operations that did not work again after a step'

/** The defect of that name. Throws an Error when there is none. */
function named(name: string): Planted {
  const defect = [...defects, ...ofCampaign].find((one) => one.name === name)
  if (defect === undefined) throw new Error(`no defect is named ${name}`)
  return defect
}

type ControlRow = [name: string, rule: string, kinds: readonly Kind[], more?: Partial<Control>]

const rows: ControlRow[] = [
  ['callbacks skip a number', pushes, ['cancelled']],
  ['each callback has the number of the first', pushes, ['refunded']],
  ['a later callback has the earlier number', pushes, ['refunded']],
  ['an event is taken in without its pushes', pushes, ['cancelled']],
  ['the second notify of an event is dropped', pushes, ['paid']],
  ['a cancellation makes no event', pushes, ['cancelled']],
  [
    'an event ends when the broker has it',
    pushes,
    ['cancelled', 'paid'],
    { faults: 'nats-behind', seed: 13 },
  ],
  ['a refused consent is called back as approved', pushes, ['consent']],
  ['a signature does not cover its time', undocumentedPush, ['consent']],
  [
    'the body of a push changes from attempt to attempt',
    bytes,
    ['cancelled'],
    { faults: 'receiver-fails', seed: 13 },
  ],
  [
    'each attempt of a push has another delivery id',
    unaccepted,
    ['cancelled'],
    { faults: 'receiver-fails', seed: 13 },
  ],
  [
    'a push is given up after its first failure',
    givenUp,
    ['cancelled'],
    { faults: 'receiver-fails', seed: 13 },
  ],
  ['the event of a callback is refused by its consumer', refusedEvents, ['cancelled']],
  [
    'a service that is away is answered as a bad gateway',
    serverError,
    ['cancelled', 'bill', 'quote', 'transfer', 'account'],
    { faults: 'link-cut' },
  ],
  [
    'a process that ended is not started again',
    notAgain,
    ['cancelled'],
    { faults: 'kill-all-services', slack: 0.2, patienceS: 1 },
  ],
  ['an answer leaves out its request id', undocumented, ['cancelled']],
  ['a payment is not in the list before its end', outcome, ['by hand', 'paid']],
  ['a used transaction id takes another body', readBack, ['cancelled']],
  ['a used key of a bill pays another bill', readBack, ['bill']],
  ['a used id of a transaction takes another body', readBack, ['transfer']],
  ['a merchant reads the payments of others', readBack, ['cancelled', 'business']],
  [
    'a commit is answered before it is on disk',
    readBack,
    ['cancelled'],
    // The server writes a commit within 0.6 s, so a single kill may come too late to lose one that was answered.
    { faults: 'postgres-kill', minutes: 0.2, ratePerS: 16 },
  ],
  ['a refund leaves out all payers but the first', money, ['refunded']],
  ['money that comes late is kept', money, ['late money']],
  ['each call of a refund has an id of its own', refunds, ['refunded']],
  ['the row of a settlement is lost', settlements, ['paid']],
  ['a payout is posted from the wrong account', left, ['paid']],
  [
    'a report that comes again counts again',
    unfinished,
    ['paid'],
    { faults: 'reports-repeated', seed: 4, patienceS: 15 },
  ],
  [
    'a payer who is paying does not keep the request from being cancelled',
    pushes,
    ['cancelled while paying'],
    { faults: 'backend-slow', seed: 4 },
  ],
  ['the float pays a bill that the biller refused', bills, ['bill']],
  ['a released hold stays in the held balance', ledger, ['bill']],
  ['a transfer is posted twice to its balances', balances, ['transfer']],
  ['a transaction that fails keeps its use of the limit', limits, ['transfer']],
  ['a limit counts the last movement alone', limits, ['transfer']],
  ['a transaction that fails keeps its hold', unfinished, ['transfer'], { patienceS: 15 }],
  ['a session that is spent runs a second transaction', outcome, ['race']],
  ['a quote is executed by two movements', outcome, ['transfer']],
  ['an exchange rounds in favour of the customer', outcome, ['quote']],
]

export const controls: readonly Control[] = rows.map(([name, rule, kinds, more]) => ({
  defect: named(name),
  rule,
  kinds,
  ...more,
}))
