-- The staff list the lanes of all projects, and the few of them whose breaker is not closed.

create index endpoint_of_all on endpoint (origin, project_id, coalesce(lane_kind, ''));
create index endpoint_of_all_not_closed on endpoint (origin, project_id, coalesce(lane_kind, '')) where breaker <> 'closed';
