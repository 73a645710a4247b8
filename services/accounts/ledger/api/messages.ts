// Maps the ledger's messages to domain values and back.
import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { missing } from '#core/errors/errors.ts'
import {
  HoldSchema,
  InternalAccount,
  type LedgerAddress,
  type Posting,
  type TransferDetails,
  TransferSchema,
  type Hold as WireHold,
  HoldState as WireHoldState,
  type Transfer as WireTransfer,
} from '#gen/payweave/accounts/v1/ledger_pb.js'
import type { Money } from '#gen/payweave/types/v1/types_pb.js'
import {
  type Address,
  type Details,
  type InternalName,
  internalNames,
  type Line,
  maxMinor,
  refuse,
  tooLarge,
  wholeDetails,
} from '../domain/lines.ts'
import type { Hold } from '../operations/hold.ts'
import { addressOfHolder, type HoldState } from '../store/hold-store.ts'
import type { Transfer } from '../store/ledger-store.ts'

/** Internal accounts as messages name them. */
export const internalAccounts = {
  clearing: InternalAccount.CLEARING,
  held: InternalAccount.HELD,
  suspense: InternalAccount.SUSPENSE,
  fee_income: InternalAccount.FEE_INCOME,
  merchant_receivable: InternalAccount.MERCHANT_RECEIVABLE,
  refunds_unpaid: InternalAccount.REFUNDS_UNPAID,
  fx_position: InternalAccount.FX_POSITION,
  fx_rounding: InternalAccount.FX_ROUNDING,
  biller_clearing: InternalAccount.BILLER_CLEARING,
  opening: InternalAccount.OPENING,
} as const satisfies Record<InternalName, InternalAccount>

const holdStates = {
  open: WireHoldState.OPEN,
  posted: WireHoldState.POSTED,
  voided: WireHoldState.VOIDED,
  expired: WireHoldState.EXPIRED,
} as const satisfies Record<HoldState, WireHoldState>

/** Our name of an internal account; undefined for one that messages do not have. */
export function internalNameOf(account: InternalAccount): InternalName | undefined {
  return internalNames.find((name) => internalAccounts[name] === account)
}

/** The account that a message names. Throws INVALID_PARAMETER, which names `field`, when it names none. */
export function addressOf(message: LedgerAddress | undefined, field: string): Address {
  const holder = message?.holder
  switch (holder?.case) {
    case 'accountId':
      return { accountId: holder.value }
    case 'floatProjectId':
      return { floatProjectId: holder.value }
    case 'internal': {
      const internal = internalNameOf(holder.value)
      return internal === undefined ? refuse(field, 'names no account') : { internal }
    }
    default:
      return refuse(field, 'is required')
  }
}

/** The money of a message, in minor units. Throws MISSING_PARAMETER, which names `field`, when it is not set. */
export function moneyOf(
  message: Money | undefined,
  field: string,
): { currency: string; amountMinor: bigint } {
  if (message === undefined) {
    throw missing(field)
  }
  return { currency: message.currency, amountMinor: message.minorUnits }
}

/**
 * The lines of a transfer, in minor units. Throws INVALID_PARAMETER or MISSING_PARAMETER, which name the field by its
 * index, for a posting without account or amount.
 */
export function linesOf(postings: readonly Posting[]): Line[] {
  return postings.map(({ address, amount, feeMinorUnits }, index) => ({
    address: addressOf(address, `postings[${index}].address`),
    ...moneyOf(amount, `postings[${index}].amount`),
    feeMinor: feeMinorUnits,
  }))
}

/** The details of a message, empty when it is not set. */
export function detailsOf(message: TransferDetails | undefined): Required<Details> {
  return wholeDetails(message)
}

/**
 * The time of a message. Throws MISSING_PARAMETER when it is not set, INVALID_PARAMETER when it is no time; both name
 * `field`.
 */
export function timeOf(message: Timestamp | undefined, field: string): Date {
  if (message === undefined) {
    throw missing(field)
  }
  const time = timestampDate(message)
  return Number.isNaN(time.getTime()) ? refuse(field, 'is not a time') : time
}

/**
 * A part of a balance as money, in minor units. Throws AMOUNT_OUT_OF_RANGE past 64 bits, which the sum of an internal
 * account may reach.
 */
export function wireMoney(currency: string, minorUnits: bigint) {
  if (minorUnits > maxMinor || minorUnits < -maxMinor) throw tooLarge()
  return { currency, minorUnits }
}

/** A transfer as a message, amounts in minor units. */
export function transferMessage(transfer: Omit<Transfer, 'fingerprint'>): WireTransfer {
  const { lines, postTime, reversesId = '', reversedById = '', ...rest } = transfer
  return create(TransferSchema, {
    transferId: rest.transferId,
    projectId: rest.projectId,
    details: rest.details,
    postings: lines.map(({ address, currency, amountMinor, feeMinor = 0n }) => ({
      address: wireAddress(address),
      amount: { currency, minorUnits: amountMinor },
      feeMinorUnits: feeMinor,
    })),
    postTime: timestampFromDate(postTime),
    reversesId,
    reversedById,
  })
}

/** A hold as a message, amounts in minor units. */
export function holdMessage(hold: Omit<Hold, 'fingerprint' | 'hasExpired'>): WireHold {
  return create(HoldSchema, {
    holdId: hold.holdId,
    projectId: hold.projectId,
    address: wireAddress(addressOfHolder(hold)),
    amount: { currency: hold.currency, minorUnits: hold.amountMinor },
    state: holdStates[hold.state],
    expireTime: timestampFromDate(hold.expireTime),
    createTime: timestampFromDate(hold.createTime),
    details: hold.details,
  })
}

function wireAddress(address: Address) {
  if ('internal' in address) {
    return { holder: { case: 'internal' as const, value: internalAccounts[address.internal] } }
  }
  return 'accountId' in address
    ? { holder: { case: 'accountId' as const, value: address.accountId } }
    : { holder: { case: 'floatProjectId' as const, value: address.floatProjectId } }
}
