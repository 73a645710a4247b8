// Accounts for the tests of this folder, in memory but with the promises of its contract: people, sessions, movements.
import { randomBytes, randomUUID } from 'node:crypto'
import { create, equals } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { hashToken } from '#core/identity/digest.ts'
import { CheckGrantResponseSchema } from '#gen/payweave/accounts/v1/access_pb.js'
import {
  AccountSchema,
  ReferencedAccountSchema,
  ResolveSessionResponseSchema,
  SessionState,
} from '#gen/payweave/accounts/v1/accounts_pb.js'
import { InternalAccount, type Posting } from '#gen/payweave/accounts/v1/ledger_pb.js'
import {
  type BeginMovementRequest,
  BeginMovementRequestSchema,
  BeginMovementResponseSchema,
  CompleteMovementRequestSchema,
  CompleteMovementResponseSchema,
} from '#gen/payweave/accounts/v1/movement_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import type { Peers } from '../../services/institution/ports/peers.ts'

const institutionId = '0198c000-0000-7000-8000-0000000000f1'
export const institutionName = 'Demo Wallet'

/** A refusal of a stand-in. */
export function no(reason: Reason): Failure {
  return new Failure(reason, 'refused by a stand-in')
}

type Movement = {
  request: BeginMovementRequest | undefined
  state: 'waiting' | 'posted' | 'cancelled'
  beginTime: Date
  postTime?: Date
  postings: Posting[]
  /** Whether its hold reserves money: until it ends or expires. */
  isHeld: boolean
}

export type Person = {
  accountId: string
  mobileNumber: string
  accountNumber: string
  currency: string
  status: AccountStatus
  /** Available minor units. */
  balance: bigint
}

/** Accounts: people, sessions, movements. */
export function newAccounts(now: () => Date) {
  const people = new Map<string, Person>()
  const sessions = new Map<string, { accountId: string; spentBy?: string; expireTime: Date }>()
  const movements = new Map<string, Movement>()
  const internal = new Map<string, bigint>()
  const state = { limitMinor: 10n ** 12n, granted: true, grantChecks: 0, begins: 0 }

  function apply(postings: Posting[]): void {
    const sums = new Map<string, bigint>()
    for (const { address, amount, feeMinorUnits } of postings) {
      if (amount === undefined || address === undefined) throw no('INVALID_PARAMETER')
      const { minorUnits, currency } = amount
      if (minorUnits === 0n || feeMinorUnits < 0n) throw no('INVALID_PARAMETER')
      sums.set(currency, (sums.get(currency) ?? 0n) + minorUnits)
      const { holder } = address
      if (holder.case === 'accountId') {
        const person = people.get(holder.value)
        if (person === undefined || person.currency !== currency) {
          throw no('LEDGER_ACCOUNT_NOT_FOUND')
        }
        person.balance += minorUnits
        continue
      }
      const name = `${InternalAccount[Number(holder.value)]} ${currency}`
      internal.set(name, (internal.get(name) ?? 0n) + minorUnits)
    }
    if ([...sums.values()].some((sum) => sum !== 0n)) throw no('INVALID_PARAMETER')
  }

  /** Refuses debits that the people cannot pay. */
  function requireFunds(debits: { accountId: string; minor: bigint }[]): void {
    for (const { accountId, minor } of debits) {
      const person = people.get(accountId)
      if (person === undefined) throw no('LEDGER_ACCOUNT_NOT_FOUND')
      if (person.balance < minor) throw no('INSUFFICIENT_FUNDS')
    }
  }

  function begin(request: BeginMovementRequest): { beginTime: Date; repeated: boolean } {
    const known = movements.get(request.movementId)
    if (known !== undefined) {
      if (
        known.request !== undefined &&
        !equals(BeginMovementRequestSchema, known.request, request)
      ) {
        throw no('LEDGER_CONFLICT')
      }
      if (known.state === 'cancelled') throw no('HOLD_CLOSED')
      return { beginTime: known.beginTime, repeated: true }
    }
    const session = sessions.get(Buffer.from(request.sessionTokenHash).toString('hex'))
    if (session === undefined || session.spentBy !== undefined) throw no('SESSION_INVALID')
    if (session.expireTime <= now()) throw no('SESSION_EXPIRED')
    const { beginBeforeTime } = request
    if (beginBeforeTime !== undefined && timestampDate(beginBeforeTime) <= now()) {
      throw no('QUOTE_EXPIRED')
    }
    const counted = request.limitUse?.amount?.minorUnits ?? 0n
    if (counted > state.limitMinor) throw no('LIMIT_EXCEEDED')
    const debits = debitsOf(request.postings)
    const { hold, credit } = request
    if (hold !== undefined)
      debits.push({ accountId: hold.accountId, minor: hold.amount?.minorUnits ?? 0n })
    requireFunds(debits)
    if (credit !== undefined) {
      const sum = person(credit.accountId).balance + (credit.amount?.minorUnits ?? 0n)
      if (sum >= 2n ** 63n) throw no('AMOUNT_OUT_OF_RANGE')
    }
    if (request.postings.length > 0) apply(request.postings)
    else if (hold !== undefined) person(hold.accountId).balance -= hold.amount?.minorUnits ?? 0n
    session.spentBy = request.movementId
    const beginTime = now()
    const isPosted = request.postings.length > 0
    movements.set(request.movementId, {
      request,
      state: isPosted ? 'posted' : 'waiting',
      beginTime,
      ...(isPosted && { postTime: beginTime }),
      postings: request.postings,
      isHeld: hold !== undefined,
    })
    return { beginTime, repeated: false }
  }

  function person(accountId: string): Person {
    const found = people.get(accountId)
    if (found === undefined) throw no('ACCOUNT_NOT_FOUND')
    return found
  }

  function release(movement: Movement): void {
    const hold = movement.request?.hold
    if (hold === undefined || !movement.isHeld) return
    person(hold.accountId).balance += hold.amount?.minorUnits ?? 0n
    movement.isHeld = false
  }

  /** As the worker of the ledger does. */
  function releaseExpired(): void {
    for (const movement of movements.values()) {
      const expireTime = movement.request?.hold?.expireTime
      if (expireTime !== undefined && timestampDate(expireTime) <= now()) release(movement)
    }
  }

  const messageOf = (one: Person) =>
    create(AccountSchema, {
      accountId: one.accountId,
      institutionId,
      institutionName,
      accountNumber: one.accountNumber,
      mobileNumber: one.mobileNumber,
      currency: one.currency,
      accountStatus: one.status,
    })

  const peers: Pick<Peers, 'accounts' | 'movements' | 'access'> = {
    access: {
      async checkGrant() {
        state.grantChecks += 1
        return create(CheckGrantResponseSchema, { granted: state.granted })
      },
    },
    accounts: {
      async resolveSession(request) {
        const token = request.token?.value ?? ''
        const hash = hashToken(token.replace(/^sealed:[^:]*:/, ''))
        const session = sessions.get(hash.toString('hex'))
        if (session === undefined || request.institutionName !== institutionName) {
          throw no('SESSION_INVALID')
        }
        const references = (request.references ?? []).map(({ mobileNumber, accountNumber }) => {
          const matches = [...people.values()].filter((one) =>
            (accountNumber ?? '') !== ''
              ? one.accountNumber === accountNumber
              : one.mobileNumber === mobileNumber,
          )
          const [match] = matches
          return create(ReferencedAccountSchema, {
            ...(match !== undefined && matches.length === 1 ? { account: messageOf(match) } : {}),
            ambiguous: matches.length > 1,
          })
        })
        const isSpent = session.spentBy !== undefined
        const isExpired = session.expireTime <= now()
        const live = isExpired ? SessionState.EXPIRED : SessionState.LIVE
        return create(ResolveSessionResponseSchema, {
          sessionId: randomUUID(),
          tokenHash: hash,
          state: isSpent ? SessionState.SPENT : live,
          account: messageOf(person(session.accountId)),
          references,
          limitCurrency: 'TTD',
        })
      },
    },
    movements: {
      async beginMovement(request) {
        state.begins += 1
        releaseExpired()
        const { beginTime, repeated } = begin(create(BeginMovementRequestSchema, init(request)))
        const time = timestampFromDate(beginTime)
        return create(BeginMovementResponseSchema, { beginTime: time, repeatedCall: repeated })
      },
      async completeMovement(request) {
        releaseExpired()
        const { movementId, postings } = create(CompleteMovementRequestSchema, init(request))
        const known = movements.get(movementId)
        if (known === undefined) throw no('MOVEMENT_NOT_FOUND')
        if (known.state === 'cancelled') throw no('HOLD_CLOSED')
        if (known.state === 'waiting') {
          if (!known.isHeld) requireFunds(debitsOf(postings))
          release(known)
          apply(postings)
          known.state = 'posted'
          known.postTime = now()
          known.postings = postings
        }
        const postTime = timestampFromDate(known.postTime ?? known.beginTime)
        return create(CompleteMovementResponseSchema, { postTime })
      },
      async cancelMovement({ movementId = '' }) {
        const known = movements.get(movementId)
        if (known?.state === 'posted') throw no('HOLD_CLOSED')
        if (known === undefined) {
          movements.set(movementId, {
            request: undefined,
            state: 'cancelled',
            beginTime: now(),
            postings: [],
            isHeld: false,
          })
        } else if (known.state === 'waiting') {
          release(known)
          known.state = 'cancelled'
        }
        return { $typeName: 'payweave.accounts.v1.CancelMovementResponse' }
      },
    },
  }
  return {
    peers,
    people,
    sessions,
    movements,
    internal,
    state,
    person(more: Partial<Person> = {}): Person {
      const number = String(people.size + 1).padStart(4, '0')
      const one: Person = {
        accountId: randomUUID(),
        mobileNumber: `+1868350${number}`,
        accountNumber: `ACC${number}`,
        currency: 'USD',
        status: AccountStatus.AVAILABLE,
        balance: 1_000_000n,
        ...more,
      }
      people.set(one.accountId, one)
      return one
    },
    session(one: Person, ttlMs = 900_000): string {
      const token = `pws_${randomBytes(32).toString('base64url')}`
      sessions.set(hashToken(token).toString('hex'), {
        accountId: one.accountId,
        expireTime: new Date(now().getTime() + ttlMs),
      })
      return token
    },
    isSpent: (token: string) =>
      sessions.get(hashToken(token).toString('hex'))?.spentBy !== undefined,
    /** Movements that moved or hold money. */
    standing: () => [...movements.values()].filter(({ state }) => state !== 'cancelled'),
  }
}

/** What customers pay by some postings. */
function debitsOf(postings: Posting[]): { accountId: string; minor: bigint }[] {
  return postings.flatMap(({ address, amount }) =>
    address?.holder.case === 'accountId' && amount !== undefined && amount.minorUnits < 0n
      ? [{ accountId: address.holder.value, minor: -amount.minorUnits }]
      : [],
  )
}

/** What a client hands to a method, as an initializer. */
export function init<T>(request: T): Exclude<T, undefined> {
  if (request === undefined) throw new Error('a call without a request')
  return request as Exclude<T, undefined>
}
