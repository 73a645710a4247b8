-- Limits and breaker by lane: project, origin and kind, so that a notify path that hangs does not delay the callbacks of its host.

-- What is pushed through the lane. Null: the version before made the row, for pushes of all kinds to the origin; what waits
-- in it is sent through it until it is gone, and new pushes go to lanes of their kind. The version before joins this table to
-- delivery and reads delivery's `kind` without saying whose, so the column needs another name.
alter table endpoint add column lane_kind text;
alter table endpoint add constraint endpoint_lane_kind_known check (
  lane_kind in ('notify', 'callback', 'onboarding')
);
