-- Refunds that people paid by hand before the audit of actions had them.

insert into action_audit (action_id, action_time, caller, action, target, note)
select (lpad(to_hex((extract(epoch from settle_time) * 1000)::bigint), 12, '0')
    || '7' || left(md5(refund_id::text), 3) || '8' || right(md5(refund_id::text), 15))::uuid,
  settle_time, settled_by, 'settle_refund', refund_id::text, note
from refund_settled;
