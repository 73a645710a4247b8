// Tests the accounts of every kind of settlement against the table in payments' README.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { SettlementKind, SettlementSchema } from '#gen/payweave/payments/v1/settlement_pb.js'
import { transferOf } from './settlement-transfer.ts'

const { REFUND, FEE, PAYER_RECEIPT, LATE_RECEIPT, DUPLICATE_RECEIPT, UNSPECIFIED } = SettlementKind
const { PAYOUT_RETURNED, PAYOUT_RECOVERY } = SettlementKind

function linesOf(kind: SettlementKind, reversesKind = UNSPECIFIED): string {
  const ids = { settlementId: 'aa', projectId: 'bb' }
  const money = { amountMinor: 150n, currency: 'USD' }
  const { lines } = transferOf(create(SettlementSchema, { ...ids, ...money, kind, reversesKind }))
  return lines
    .map(({ address, amountMinor }) => `${Object.values(address).join()} ${amountMinor}`)
    .join(', ')
}

const readme = readFileSync(join(import.meta.dirname, '../../../payments/README.md'), 'utf8')
const rows = [...readme.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| ([^|]+) \| ([^|]+) \|/gm)].flatMap(
  ([, kinds = '', debits = '', credits = '']) => {
    const names = [...kinds.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    const at = (cell: string, index: number) => {
      const accounts = cell.split(', ')
      return (accounts[index] ?? accounts[0] ?? '').trim().replaceAll(' ', '_')
    }
    return names.map((name, index) => [name, at(debits, index), at(credits, index)] as const)
  },
)
const plain = rows.filter(([name]) => name !== 'refund')

describe('a settlement as a transfer', () => {
  it('a settlement of every kind has its transfer', () => {
    const kinds = Object.values(SettlementKind).filter((kind) => typeof kind === 'string')
    const documented = rows.map(([name]) => name.toUpperCase())
    expect([...documented, 'UNSPECIFIED'].toSorted()).toEqual(kinds.toSorted())
  })

  it.each(plain)('a settlement of kind %s debits %s and credits %s', (name, debit, credit) => {
    const kind = SettlementKind[name.toUpperCase() as keyof typeof SettlementKind]
    expect(linesOf(kind)).toBe(`${debit} -150, ${credit} 150`)
  })

  it('a refund leaves the account that its receipt went to', () => {
    expect(linesOf(REFUND, PAYER_RECEIPT)).toBe('held -150, clearing 150')
    expect(linesOf(REFUND, LATE_RECEIPT)).toBe('suspense -150, clearing 150')
    expect(linesOf(REFUND, DUPLICATE_RECEIPT)).toBe('suspense -150, clearing 150')
  })

  it('a payout that is returned after its recovery ends the debt of the merchant', () => {
    expect(linesOf(PAYOUT_RECOVERY)).toBe('merchant_receivable -150, held 150')
    const lines = linesOf(PAYOUT_RETURNED, PAYOUT_RECOVERY)
    expect(lines).toBe('clearing -150, merchant_receivable 150')
  })

  it('a settlement is refused when its kind is not known or it is a refund of no receipt', () => {
    expect(() => linesOf(99 as SettlementKind)).toThrow(RangeError)
    expect(() => linesOf(REFUND)).toThrow(RangeError)
    expect(() => linesOf(REFUND, FEE)).toThrow(RangeError)
  })
})
