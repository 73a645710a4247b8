-- A refund that was completed fails when the payer's bank sends the money back.

drop trigger refund_transition on refund;
create trigger refund_transition before update of state on refund for each row
  when (old.state <> new.state and old.state <> 'sent'
    and not (old.state = 'completed' and new.state = 'failed'))
  execute function refuse_change();
