// Transactions between two accounts of one institution, as the gateway sees them: once each, or refused without a trace.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { TransactionStatus, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { institutionName } from './accounts.ts'
import { type Harness, type Order, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

/** Two people and a session of the first. */
function pair() {
  const { accounts } = harness
  const ama = accounts.person()
  const kofi = accounts.person()
  const token = accounts.session(ama)
  const order = (more: Order = {}) => harness.order(token, ama, kofi, more)
  return { ama, kofi, token, order }
}

describe('a p2p transaction', () => {
  it('a p2p transaction moves the money at once, with one receipt and one event', async () => {
    const { ama, kofi, token, order } = pair()
    const asked = order()
    const made = await harness.create(asked)
    expect(made).toMatchObject({
      status: TransactionStatus.COMPLETED,
      transactionId: asked.transactionId,
      institutionName,
      amount: { currency: 'USD', minorUnits: 10_000n },
    })
    expect(made.institutionReceiptId).toMatch(/^[\w-]{32}$/)
    expect([ama.balance, kofi.balance]).toEqual([990_000n, 1_010_000n])
    expect(await harness.events(made.transactionId)).toEqual(['COMPLETED'])
    expect(harness.accounts.isSpent(token)).toBe(true)
    expect(await harness.get(made.transactionId)).toEqual(made)
  })

  it('a p2p transaction adds the fees of the sender to the debit and takes those of the recipient from the credit', async () => {
    const { ama, kofi, order } = pair()
    const fees = [
      { type: 'sender_pays', amount: '1.00', currency: 'USD' },
      { type: 'sender_pays', amount: '0.50', currency: 'USD' },
      { type: 'recipient_pays', amount: '0.25', currency: '' },
      { type: 'other', amount: '9.00', currency: 'EUR' },
    ]
    const earned = harness.accounts.internal.get('FEE_INCOME USD') ?? 0n
    const made = await harness.create(order({ fees }))
    expect([ama.balance, kofi.balance]).toEqual([989_850n, 1_009_975n])
    expect((harness.accounts.internal.get('FEE_INCOME USD') ?? 0n) - earned).toBe(175n)
    expect(made.fees).toMatchObject({
      total: { minorUnits: 175n },
      convenience: { minorUnits: 0n },
      senderPays: { minorUnits: 150n },
      recipientPays: { minorUnits: 25n },
    })
  })

  it('a p2p transaction counts all that leaves the account, fees included, in the currency of the limits and rounded up', async () => {
    const counted = async (more: Order) => {
      const { movementId } = await harness.create(pair().order(more))
      return harness.accounts.movements.get(movementId)?.request?.limitUse?.amount
    }
    expect(await counted({})).toMatchObject({ currency: 'TTD', minorUnits: 67_829n })
    // 101.50 USD are 688.46435 TTD.
    const fees = [
      { type: 'sender_pays', amount: '1.00' },
      { type: 'sender_pays', amount: '0.50', currency: 'USD' },
      { type: 'recipient_pays', amount: '7.00' },
      { type: 'convenience', amount: '9.00' },
    ]
    expect(await counted({ fees })).toMatchObject({ currency: 'TTD', minorUnits: 68_847n })
  })

  it('a p2p transaction has a total of all its fees when none is stated', async () => {
    const fees = [
      { type: 'sender_pays', amount: '1.00' },
      { type: 'recipient_pays', amount: '0.25' },
      { type: 'convenience', amount: '0.50' },
    ]
    const stated = [...fees, { type: 'total', amount: '1.75' }]
    for (const all of [fees, stated]) {
      const { fees: shown } = await harness.create(pair().order({ fees: all }))
      expect(shown?.total).toMatchObject({ currency: 'USD', minorUnits: 175n })
    }
  })

  it('a p2p transaction may have fees of as much as the amounts', async () => {
    const { ama, kofi, order } = pair()
    const fees = [
      { type: 'sender_pays', amount: '100.00' },
      { type: 'recipient_pays', amount: '100.00' },
    ]
    await harness.create(order({ fees }))
    expect([ama.balance, kofi.balance]).toEqual([980_000n, 1_000_000n])
  })
})

describe('the same transaction again', () => {
  it('the same transaction again is answered as before, sealed anew and although its token is spent', async () => {
    const { kofi, order, token } = pair()
    const asked = order()
    const first = await harness.institution.createTransaction(asked)
    const sealedAnew = {
      case: 'sessionTokenSealed',
      value: `sealed:${randomUUID()}:${token}`,
    } as const
    const again = await harness.institution.createTransaction({ ...asked, token: sealedAnew })
    expect([first.replayed, again.replayed]).toEqual([false, true])
    expect(again.transaction).toEqual(first.transaction)
    expect(kofi.balance).toBe(1_010_000n)
  })

  it('the same transaction again is answered when its token has expired', async () => {
    const { accounts } = harness
    const ama = accounts.person()
    const token = accounts.session(ama, 60_000)
    const asked = harness.order(token, ama, accounts.person())
    const first = await harness.create(asked)
    harness.testClock.advance(120_000)
    expect(await harness.create(asked)).toEqual(first)
  })

  it('the same transaction again is a conflict with another body, even one that would be refused by itself', async () => {
    const { order, token, ama, kofi } = pair()
    const asked = order()
    await harness.create(asked)
    const conflict = 'DUPLICATE_TRANSACTION_ID transaction_id'
    expect(await refusal(harness.create({ ...asked, amount: '100.0' }))).toBe(conflict)
    const broken = { ...asked, senderCurrency: 'EUR' }
    expect(await refusal(harness.create(broken))).toBe(conflict)
    const other = harness.accounts.session(ama)
    const { transactionId = '' } = asked
    expect(await refusal(harness.create(harness.order(other, ama, kofi, { transactionId })))).toBe(
      conflict,
    )
    expect(harness.accounts.isSpent(other)).toBe(false)
    expect(harness.accounts.isSpent(token)).toBe(true)
  })

  it('the same transaction sent thirty times at once is one', async () => {
    const { ama, order } = pair()
    const asked = order()
    const before = harness.accounts.standing().length
    const made = await Promise.all(Array.from({ length: 30 }, () => harness.create(asked)))
    expect(new Set(made.map((one) => one.institutionReceiptId)).size).toBe(1)
    expect(harness.accounts.standing().length - before).toBe(1)
    expect(ama.balance).toBe(990_000n)
  })

  it('the same transaction under another id is another one: of thirty on one token one is made', async () => {
    const { ama, order } = pair()
    const rows = await harness.rowCount()
    const answers = await Promise.allSettled(
      Array.from({ length: 30 }, () => harness.create(order())),
    )
    const made = answers.filter(({ status }) => status === 'fulfilled')
    expect(made).toHaveLength(1)
    expect(ama.balance).toBe(990_000n)
    expect((await harness.rowCount()) - rows).toBe(1)
  })

  it('the same transaction again is unknown to another project', async () => {
    const { order } = pair()
    const { transactionId } = await harness.create(order())
    const asked = { projectId: randomUUID(), institutionName, transactionId }
    expect(await refusal(harness.institution.getTransaction(asked))).toBe('TRANSACTION_NOT_FOUND')
    const elsewhere = { projectId: harness.projectId, institutionName: 'Other', transactionId }
    expect(await refusal(harness.institution.getTransaction(elsewhere))).toBe(
      'TRANSACTION_NOT_FOUND',
    )
  })
})

describe('a refused transaction leaves nothing behind', () => {
  type Pair = ReturnType<typeof pair>
  const cases: [string, string, (pair: Pair) => Order][] = [
    [
      'an unknown token',
      'SESSION_INVALID',
      ({ order }) => order({ token: { case: 'sessionToken', value: 'pws_unknown' } }),
    ],
    [
      'a token of another institution',
      'SESSION_INVALID',
      ({ order }) => order({ institutionName: 'Other' }),
    ],
    [
      'a debit party that is not the holder',
      'PARTY_NOT_ALLOWED',
      ({ token, ama, kofi }) => harness.order(token, kofi, ama),
    ],
    [
      'an unknown credit party',
      'ACCOUNT_NOT_FOUND',
      ({ order }) => order({ creditParty: { mobileNumber: '+18683509999' } }),
    ],
    [
      'a credit party with two accounts',
      'AMBIGUOUS_MATCH',
      ({ order }) => {
        const one = harness.accounts.person()
        harness.accounts.person({ mobileNumber: one.mobileNumber })
        return order({ creditParty: { mobileNumber: one.mobileNumber } })
      },
    ],
    [
      'a suspended credit party',
      'ACCOUNT_UNAVAILABLE',
      ({ order, kofi }) => {
        kofi.status = AccountStatus.UNAVAILABLE
        return order()
      },
    ],
    [
      'a profile under review',
      'ACCOUNT_NOT_FOUND',
      ({ order, kofi }) => {
        kofi.status = AccountStatus.PENDING_REVIEW
        return order()
      },
    ],
    [
      'a suspended holder',
      'ACCOUNT_UNAVAILABLE',
      ({ order, ama }) => {
        ama.status = AccountStatus.UNAVAILABLE
        return order()
      },
    ],
    [
      'one account on both sides',
      'SAME_PARTIES',
      ({ order, ama }) => order({ creditParty: { accountNumber: ama.accountNumber } }),
    ],
    [
      'no debit party',
      'MISSING_PARAMETER debit_party.mobile_number',
      ({ order }) => order({ debitParty: {} }),
    ],
    [
      'no credit party',
      'MISSING_PARAMETER credit_party.mobile_number',
      ({ order }) => order({ creditParty: {} }),
    ],
    [
      'a currency that is not the debit account’s',
      'INVALID_PARAMETER debit_party.currency',
      ({ order, ama }) =>
        order({ debitParty: { mobileNumber: ama.mobileNumber, currency: 'TTD' } }),
    ],
    [
      'a currency that is not the credit account’s',
      'INVALID_PARAMETER credit_party.currency',
      ({ order, kofi }) =>
        order({ creditParty: { mobileNumber: kofi.mobileNumber, currency: 'TTD' } }),
    ],
    [
      'a sender’s currency that is not the account’s',
      'INVALID_PARAMETER sender_currency',
      ({ order }) => order({ senderCurrency: 'TTD' }),
    ],
    ['too many decimals', 'INVALID_PARAMETER amount', ({ order }) => order({ amount: '1.001' })],
    ['an amount of nothing', 'INVALID_PARAMETER amount', ({ order }) => order({ amount: '0.00' })],
    [
      'two amounts in one currency',
      'INVALID_PARAMETER sender_amount',
      ({ order }) => order({ senderAmount: '99.00' }),
    ],
    [
      'fees above the amount',
      'INVALID_PARAMETER fees.recipient_pays',
      ({ order }) => order({ fees: [{ type: 'recipient_pays', amount: '100.01' }] }),
    ],
    [
      'a fee of the sender above the amount',
      'INVALID_PARAMETER fees.sender_pays',
      ({ order }) => order({ amount: '0.01', fees: [{ type: 'sender_pays', amount: '9000.00' }] }),
    ],
    [
      'fees of the sender that are above the amount together',
      'INVALID_PARAMETER fees.sender_pays',
      ({ order }) =>
        order({
          fees: [
            { type: 'sender_pays', amount: '60.00' },
            { type: 'sender_pays', amount: '40.01' },
          ],
        }),
    ],
    [
      'a total that is not the sum of the fees',
      'INVALID_PARAMETER fees.total',
      ({ order }) =>
        order({
          fees: [
            { type: 'sender_pays', amount: '1.00' },
            { type: 'convenience', amount: '0.50' },
            { type: 'total', amount: '1.00' },
          ],
        }),
    ],
    [
      'fees in another currency',
      'INVALID_PARAMETER fees.sender_pays',
      ({ order }) => order({ fees: [{ type: 'sender_pays', amount: '1.00', currency: 'TTD' }] }),
    ],
    [
      'fees with too many decimals',
      'INVALID_PARAMETER fees.total',
      ({ order }) => order({ fees: [{ type: 'total', amount: '1.001' }] }),
    ],
    [
      'two currencies without a quote',
      'MISSING_PARAMETER quote_id',
      ({ order, kofi }) => {
        kofi.currency = 'TTD'
        return order({ senderAmount: '10.00' })
      },
    ],
    ['an unknown quote', 'QUOTE_NOT_FOUND', ({ order }) => order({ quoteId: randomUUID() })],
    ['too little money', 'INSUFFICIENT_FUNDS', ({ order }) => order({ amount: '10000.01' })],
    [
      'fees that the sender cannot pay',
      'INSUFFICIENT_FUNDS',
      ({ order }) => order({ amount: '10000.00', fees: [{ type: 'sender_pays', amount: '0.01' }] }),
    ],
    [
      'no type',
      'MISSING_PARAMETER type',
      ({ order }) => order({ type: TransactionType.UNSPECIFIED }),
    ],
  ]
  it.each(cases)(
    'a transaction that is refused with %s leaves nothing behind: %s',
    async (_, expected, orderOf) => {
      const one = pair()
      const asked = orderOf(one)
      const rows = await harness.rowCount()
      expect(await refusal(harness.create(asked))).toBe(expected)
      expect(await harness.rowCount()).toBe(rows)
      expect(harness.accounts.isSpent(one.token)).toBe(false)
      expect(one.ama.balance).toBe(1_000_000n)
    },
  )

  it('a transaction over the limits is refused for them before its funds are checked', async () => {
    const { order, token } = pair()
    harness.accounts.state.limitMinor = 100n
    expect(await refusal(harness.create(order({ amount: '999999.00' })))).toBe('LIMIT_EXCEEDED')
    // 100.00 USD are 678.29 TTD; a fee of a cent comes on top.
    harness.accounts.state.limitMinor = 67_829n
    const fees = [{ type: 'sender_pays', amount: '0.01' }]
    expect(await refusal(harness.create(order({ fees })))).toBe('LIMIT_EXCEEDED')
    harness.accounts.state.limitMinor = 10n ** 12n
    expect(harness.accounts.isSpent(token)).toBe(false)
  })

  it('a transaction with a spent or expired token is refused', async () => {
    const { ama, kofi, order } = pair()
    await harness.create(order())
    expect(await refusal(harness.create(order()))).toBe('SESSION_INVALID')
    const stale = harness.accounts.session(ama, -1)
    expect(await refusal(harness.create(harness.order(stale, ama, kofi)))).toBe('SESSION_EXPIRED')
  })

  it('a refused transaction can be sent again, corrected, under the same id', async () => {
    const { order } = pair()
    const asked = order({ amount: '10000.01' })
    expect(await refusal(harness.create(asked))).toBe('INSUFFICIENT_FUNDS')
    expect(await harness.create({ ...asked, amount: '9.00' })).toMatchObject({
      status: TransactionStatus.COMPLETED,
    })
  })
})

it('a currency without a rate is not supported', async () => {
  const eve = harness.accounts.person({ currency: 'BHD' })
  const token = harness.accounts.session(eve)
  const other = harness.accounts.person({ currency: 'BHD' })
  expect(await refusal(harness.create(harness.order(token, eve, other)))).toBe(
    'CURRENCY_NOT_SUPPORTED sender_currency',
  )
})

it('a receipt cannot be guessed from another one', async () => {
  const receipts = await Promise.all(
    Array.from(
      { length: 5 },
      async () => (await harness.create(pair().order())).institutionReceiptId,
    ),
  )
  expect(new Set(receipts.map((receipt) => receipt.slice(0, 8))).size).toBe(5)
  expect(receipts).not.toContain(randomBytes(24).toString('base64url'))
})
