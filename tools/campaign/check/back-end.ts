// Compares what the back end did with what we recorded, both ways: each movement of money is in both, once and with one amount.
import type { TableRule } from './rules.ts'

/** Each finds what only one side has, or what differs. */
export const backEndRules: readonly TableRule[] = [
  {
    rule: 'money of payers that the back end and our settlements do not both have',
    text: `select s.settlement_id, s.kind, a.attempt_id, s.amount_minor::text as ours, c.amount_minor::text as theirs
      from (select * from payments.settlement
          where kind in ('payer_receipt', 'late_receipt', 'duplicate_receipt')) as s
      full join (select * from simulator.attempt where outcome = 'paid') as a on a.attempt_id::text = s.attempt_id
      left join simulator.charge as c on c.charge_id = a.charge_id
      where s.settlement_id is null or a.attempt_id is null or s.payer_id <> a.charge_id
        or s.amount_minor <> c.amount_minor or s.currency <> c.currency`,
  },
  {
    rule: 'refunds that the back end and our records do not both have',
    text: `select r.refund_id, r.state, b.refund_id as executed, s.settlement_id
      from payments.refund as r
      full join simulator.refund as b on b.refund_id = r.refund_id
      full join (select * from payments.settlement where kind = 'refund') as s
        on s.settlement_id = coalesce(r.refund_id, b.refund_id)
      where r.refund_id is null or s.settlement_id is null or (r.state = 'completed') <> (b.refund_id is not null)
        or (b.charge_id, b.amount_minor, b.currency) is distinct from (r.payer_id, r.amount_minor, r.currency)`,
  },
  {
    rule: 'charges that were refunded for more than was paid',
    text: `select r.charge_id, sum(r.amount_minor)::text as refunded, max(paid.minor)::text as paid
      from simulator.refund as r
      left join (select a.charge_id, sum(c.amount_minor) as minor
          from simulator.attempt as a join simulator.charge as c on c.charge_id = a.charge_id
          where a.outcome = 'paid' group by a.charge_id) as paid on paid.charge_id = r.charge_id
      group by r.charge_id having sum(r.amount_minor) > coalesce(max(paid.minor), 0)`,
  },
  {
    rule: 'payouts that the back end and our records do not both have',
    text: `select y.payee_id, y.payout_state, b.payout_id as executed, y.net_minor::text as ours, b.amount_minor::text as theirs
      from payments.payee as y
      join payments.payment as p on p.payment_id = y.payment_id
      full join simulator.payout as b on b.payout_id = y.payee_id
      where y.payee_id is null or (y.payout_state = 'completed' and y.net_minor > 0) <> (b.payout_id is not null)
        or (b.payout_id is not null and (b.amount_minor, b.currency) is distinct from (y.net_minor, p.currency))`,
  },
  {
    rule: 'transfers that the back end and our transactions do not both have',
    text: `select i.transaction_id, i.state, e.subject_id as executed, e.amount_minor::text as theirs
      from (select * from institution.transaction where type <> 'p2p') as i
      full join (select * from simulator.execution where kind = 'transfer') as e on e.subject_id = i.movement_id
      left join simulator.transfer as t on t.transfer_id = e.subject_id
      where i.movement_id is null or (i.state = 'completed') <> (e.subject_id is not null)
        or (t.transfer_id is not null
          and (t.credit_minor, t.credit_currency, t.debit_minor, t.debit_currency) is distinct from
            (i.amount_minor - i.fee_recipient_pays_minor, i.currency::text,
              i.sender_amount_minor + i.fee_sender_pays_minor, i.sender_currency::text))`,
  },
  {
    rule: 'bills that the back end and our bill payments do not both have',
    text: `select b.transaction_id, b.state, e.subject_id as executed, b.amount_minor::text as ours, e.amount_minor::text as theirs
      from billing.bill_payment as b
      full join (select * from simulator.execution where kind = 'bill') as e on e.subject_id = b.bill_payment_id
      where b.bill_payment_id is null or (b.state = 'succeeded') <> (e.subject_id is not null)
        or (e.subject_id is not null and (e.amount_minor, e.currency) is distinct from (b.amount_minor, b.currency))`,
  },
]
