-- One receiver's claim must never walk the rows of another. With an index over what all receivers wait for, the planner took that
-- one as soon as most rows were of one receiver, and a million retries for it held up everybody.
drop index delivery_due;
