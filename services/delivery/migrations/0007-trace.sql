-- Lets the POSTs of a push be spans of the trace that made it; empty while no traces are recorded.

alter table delivery add column traceparent text;
