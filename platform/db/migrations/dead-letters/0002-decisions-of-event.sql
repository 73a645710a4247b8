-- Decisions about the dead letter of one event are found among all, which are kept for ever.

create index dead_letter_decision_of_event on dead_letter_decision (event_id, decide_time, decision_id);
