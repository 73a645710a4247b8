// Begins, completes and cancels the movement of a transaction in accounts.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors/errors.ts'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { type InternalName, type Line, ledgerLines } from '../domain/lines.ts'
import { creditMinor, debitMinor, type Transaction } from '../domain/transaction.ts'
import type { Peers } from './peers.ts'

const internalAccounts = {
  clearing: InternalAccount.CLEARING,
  fee_income: InternalAccount.FEE_INCOME,
  fx_position: InternalAccount.FX_POSITION,
  fx_rounding: InternalAccount.FX_ROUNDING,
} as const satisfies Record<InternalName, InternalAccount>

/**
 * Spends the token, counts the limit, and posts or holds. Answers when; a repeat answers as the first time. AMOUNT_OUT_OF_RANGE, with the
 * client's field, when the balance of an account of ours cannot take what it gets.
 */
export async function beginMovement({ peers }: { peers: Peers }, row: Transaction): Promise<Date> {
  const { projectId, movementId, institutionId, tokenHash, limit, reservation } = row
  const isAtOnce = row.type === 'p2p'
  const request = {
    projectId,
    movementId,
    institutionId,
    sessionTokenHash: tokenHash,
    ...(limit.isCounted ? { limitUse: limitUseOf(limit) } : {}),
    postings: isAtOnce ? postingsOf(row) : [],
    ...(isAtOnce ? {} : { ...holdOf(row), ...creditOf(row) }),
    details: {
      reference: row.transactionId,
      description: row.description,
      method: row.type,
      metadata: {
        institution_name: row.institutionName,
        institution_receipt_id: row.receiptId,
      },
    },
    ...(reservation === undefined
      ? {}
      : { beginBeforeTime: timestampFromDate(reservation.expireTime) }),
  }
  const { beginTime } = await peers.movements
    .beginMovement(request, withProject(projectId))
    .catch(refuseAmount)
  if (beginTime === undefined) throw new Error('the answer has no time')
  return timestampDate(beginTime)
}

/** Names the field of what the ledger refuses without one. */
function refuseAmount(error: unknown): never {
  if (!(error instanceof Failure) || error.reason !== 'AMOUNT_OUT_OF_RANGE') throw error
  const field = 'amount'
  const message = `${field} is more than the balance of the credited account can take`
  throw new Failure('AMOUNT_OUT_OF_RANGE', message, { details: { field }, cause: error })
}

function limitUseOf({ accountId, currency, minor }: Transaction['limit']) {
  return { accountId, amount: { currency, minorUnits: minor } }
}

/** The hold of a movement, if it debits an account of ours. */
function holdOf(row: Transaction) {
  const { debitAccountId: accountId, senderCurrency: currency, holdExpireTime } = row
  if (accountId === undefined) return {}
  if (holdExpireTime === undefined) throw new Error('a claim has no end of its hold')
  const amount = { currency, minorUnits: debitMinor(row) }
  const feeMinorUnits = row.fees.senderPaysMinor
  const expireTime = timestampFromDate(holdExpireTime)
  return { hold: { accountId, amount, feeMinorUnits, expireTime } }
}

/** What an account of ours will get, if it gets anything. */
function creditOf(row: Transaction) {
  const { creditAccountId: accountId, currency } = row
  const minorUnits = creditMinor(row)
  if (accountId === undefined || minorUnits === 0n) return {}
  return { credit: { accountId, amount: { currency, minorUnits } } }
}

/**
 * Posts a movement that waited; answers when, also a repeat. INSUFFICIENT_FUNDS while the account has too little, after its hold has
 * expired.
 */
export async function completeMovement(
  { peers }: { peers: Peers },
  row: Transaction,
): Promise<Date> {
  const { projectId, movementId } = row
  const request = { projectId, movementId, postings: postingsOf(row) }
  const { postTime } = await peers.movements.completeMovement(request, withProject(projectId))
  if (postTime === undefined) throw new Error('the answer has no time')
  return timestampDate(postTime)
}

/** Gives a movement up; one that never began cannot begin any more. */
export async function cancelMovement({ peers }: { peers: Peers }, row: Transaction): Promise<void> {
  const { projectId, movementId } = row
  await peers.movements.cancelMovement({ projectId, movementId }, withProject(projectId))
}

function postingsOf(row: Transaction) {
  const rounding = row.reservation?.rounding ?? { minor: 0n, currency: undefined }
  return ledgerLines({ ...row, rounding }).map(postingOf)
}

function postingOf({ address, currency, amountMinor, feeMinor }: Line) {
  const holder =
    'accountId' in address
      ? ({ case: 'accountId', value: address.accountId } as const)
      : ({ case: 'internal', value: internalAccounts[address.internal] } as const)
  return {
    address: { holder },
    amount: { currency, minorUnits: amountMinor },
    feeMinorUnits: feeMinor,
  }
}
