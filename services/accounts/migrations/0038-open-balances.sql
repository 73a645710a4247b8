-- Money that must not stay where it is, over all projects: the staff lists these few balances.

create index internal_balance_open on internal_balance (internal, project_id, currency)
  where internal in ('suspense', 'refunds_unpaid');
