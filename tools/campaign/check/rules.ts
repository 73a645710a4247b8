// What the tables must not have once the system is at rest.

/** What is under way, by what it is. */
export const open = `
  select what, count(*)::integer as count from (
    select 'event of payments' as what from payments.outbox where confirmed_at is null and parked_at is null
    union all select 'event of accounts' from accounts.outbox where confirmed_at is null and parked_at is null
    union all select 'event of institution' from institution.outbox where confirmed_at is null and parked_at is null
    union all select 'event of billing' from billing.outbox where confirmed_at is null and parked_at is null
    union all select 'payment' from payments.payment where state in ('Pending', 'Partially_paid')
    union all select 'payer' from payments.payer where state in ('Pending', 'Processing')
    union all select 'attempt of a payer' from payments.attempt where next_enquiry_time is not null
    union all select 'refund' from payments.refund where state = 'sent'
    union all select 'payout' from payments.payee
      where payout_state = 'sent' or (payout_state = 'scheduled' and release_time <= now())
    union all select 'plan of a payer' from simulator.charge where act_at is not null
    union all select 'report of the back end' from simulator.report where delivered_at is null and parked_at is null
    union all select 'review' from simulator.review where decide_at is not null
    union all select 'consent' from simulator.consent where state = 'asked'
    union all select 'bill of the back end' from simulator.bill where settle_at is not null
    union all select 'transfer of the back end' from simulator.transfer where end_at is not null
    union all select 'review of accounts' from accounts.review where state = 'open'
    union all select 'consent of accounts' from accounts.challenge where state = 'open'
    union all select 'movement' from accounts.movement where state = 'waiting'
    union all select 'quote' from quotes.quote where state = 'reserved'
    union all select 'push' from delivery.delivery where state in ('pending', 'sending')
    union all select 'transaction' from institution.transaction where state in ('claimed', 'pending') or next_time is not null
    union all select 'bill payment' from billing.bill_payment where state not in ('succeeded', 'failed') or settle_time is not null or next_time is not null
    union all select 'hold of a bill payment' from billing.abandoned_hold
    union all select 'task of accounts' from accounts.backend_task where done_time is null
    union all select 'task of payments' from payments.task where done_time is null
    union all select 'hold' from accounts.hold where state = 'open'
  ) as waiting group by what`

/** Reports of the back end from this position on are wrong ones, which a fault made: they may be refused. */
export const wrongReportsFrom = 1_000

/** A rule of the tables: its statement finds the rows that are against it. */
export type TableRule = { rule: string; text: string }

/** Of the tables of our own services. */
export const rules: readonly TableRule[] = [
  {
    rule: 'settlements without their transfer in the ledger, or transfers of payments without settlement',
    text: `select s.settlement_id, t.transfer_id from payments.settlement as s
      full join accounts.transfer as t on t.project_id = s.project_id and t.transfer_id = s.settlement_id
      where t.transfer_id is null or (s.settlement_id is null and t.method = 'payment')`,
  },
  {
    rule: 'money that came twice',
    text: `select payment_id from payments.settlement where kind = 'duplicate_receipt'`,
  },
  {
    rule: 'payments with one id of the merchant',
    text: `select merchant_id, transaction_id, count(*)::integer as count from payments.payment
      group by merchant_id, transaction_id having count(*) > 1`,
  },
  {
    rule: 'pushes that were given up',
    text: `select delivery_id, kind, state, attempts from delivery.delivery where state not in ('pending', 'sending', 'delivered')`,
  },
  {
    rule: 'events that were refused',
    text: `select 'delivery' as consumer from delivery.poison union all select 'accounts' from accounts.poison
      union all select 'outbox of payments' from payments.outbox where parked_at is not null
      union all select 'outbox of accounts' from accounts.outbox where parked_at is not null
      union all select 'outbox of institution' from institution.outbox where parked_at is not null
      union all select 'outbox of billing' from billing.outbox where parked_at is not null
      union all select 'settlements of accounts' from accounts.settlement_refused`,
  },
  {
    rule: 'reports of the back end that were refused',
    text: `select subject_id, kind, outcome, last_reason from simulator.report
      where parked_at is not null and position < ${wrongReportsFrom}`,
  },
  {
    rule: 'bill payments whose biller, ledger and state differ',
    text: `select b.transaction_id, b.state from billing.bill_payment as b
      where (b.state = 'succeeded') <> exists (
          select from simulator.execution as e where e.kind = 'bill' and e.subject_id = b.bill_payment_id)
        or (select coalesce(sum(p.amount_minor), 0) from accounts.posting as p
            where p.transfer_id = b.bill_payment_id and p.internal is null)
          <> case when b.state = 'succeeded' then -b.amount_minor else 0 end`,
  },
  {
    rule: 'payments that are over and leave money in held or suspense',
    text: `select s.payment_id, p.internal, sum(p.amount_minor)::text as minor from payments.settlement as s
      join accounts.posting as p on p.project_id = s.project_id and p.transfer_id = s.settlement_id
      where p.internal in ('held', 'suspense') and not exists (
        select from payments.payee as y where y.payment_id = s.payment_id and y.payout_state = 'scheduled')
      group by s.payment_id, p.internal having sum(p.amount_minor) <> 0`,
  },
  {
    rule: 'use of limits that is not the sum of the movements',
    text: `select u.account_id, u.currency, u.span, u.used_minor, coalesce(sum(m.limit_minor), 0)::text as moved_minor
      from accounts.limit_usage as u
      left join accounts.movement as m on m.limit_account_id = u.account_id and m.limit_currency = u.currency
        and m.state <> 'cancelled' and u.span_start = date_trunc(u.span::text, coalesce(m.limit_day::timestamp, m.begin_time at time zone 'UTC'))::date
      group by u.account_id, u.currency, u.span, u.span_start, u.used_minor
      having u.used_minor <> coalesce(sum(m.limit_minor), 0)`,
  },
  {
    rule: 'transactions whose ledger and state differ',
    text: `select i.transaction_id, i.state from institution.transaction as i
      where (i.state = 'completed') <> exists (
        select from accounts.transfer as t where t.transfer_id = i.movement_id)`,
  },
]
