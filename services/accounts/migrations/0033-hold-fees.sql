-- Remembers how much of a hold are fees, so that the history shows them before the outcome. Holds of before have none.

alter table hold add column fee_minor bigint not null default 0;
-- Of new rows alone: nothing that exists has to be read for it.
alter table hold add constraint hold_fee_sound check (fee_minor between 0 and amount_minor) not valid;
