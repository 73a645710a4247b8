-- People list the few lanes of their project whose breaker is not closed.

create index endpoint_not_closed on endpoint (project_id, origin, coalesce(lane_kind, '')) where breaker <> 'closed';
