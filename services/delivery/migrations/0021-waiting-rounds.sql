-- A request to send a push again that was being sent: its round begins when the running attempt has ended.

alter table replay_request add column is_waiting boolean not null default false;

create index replay_request_waiting on replay_request (created_at) where is_waiting;
