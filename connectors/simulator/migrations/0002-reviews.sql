-- Reviews and consents, and reports for accounts and the institution service beside those for payments.

-- A profile that was handed in. Of it only what the decision rests on is kept, and no artefact.
create table review (
  review_id uuid primary key,
  institution_name text not null,
  mobile_number text not null,
  -- A list of {artefactId, field, mediaType, sizeBytes}.
  artefacts jsonb not null,
  state text not null default 'open',
  account_level smallint,
  reason text,
  submitted_at timestamptz not null default clock_now(),
  -- When it is decided, or tried again; moved forward while a reviewer has it in hand. Null: never, or decided.
  decide_at timestamptz,
  tries integer not null default 0,
  decided_at timestamptz,
  constraint review_state_known check (state in ('open', 'completed', 'rejected')),
  constraint review_decided_when check ((decided_at is not null) = (state <> 'open')),
  constraint review_planned_while_open check (decide_at is null or state = 'open'),
  constraint review_level_given check ((account_level is not null) = (state = 'completed')),
  constraint review_level_known check (account_level in (1, 2)),
  constraint review_rejected_why check ((reason is not null) = (state = 'rejected'))
);

create index review_due on review (decide_at) where decide_at is not null;

-- A question put to the holder of an account.
create table consent (
  challenge_id uuid primary key,
  institution_name text not null,
  mobile_number text not null,
  client_name text not null,
  expire_time timestamptz not null,
  state text not null default 'asked',
  -- What the holder will say, and when.
  answer text not null,
  asked_at timestamptz not null default clock_now(),
  answer_at timestamptz not null,
  constraint consent_state_known check (state in ('asked', 'approved', 'rejected', 'lapsed')),
  constraint consent_answer_known check (answer in ('approved', 'rejected')),
  constraint consent_answered_as_planned check (state in ('asked', 'lapsed', answer))
);

create index consent_due on consent (answer_at) where state = 'asked';

alter table report add column account_level smallint;
alter table report add column reason text;
alter table report drop constraint report_kind_known;
alter table report drop constraint report_outcome_known;
alter table report add constraint report_kind_known
  check (kind in ('charge', 'payout', 'refund', 'onboarding', 'consent', 'transfer'));
alter table report add constraint report_outcome_known check (
  case kind
    when 'charge' then outcome in ('processing', 'paid', 'refused')
    when 'onboarding' then outcome in ('completed', 'rejected')
    when 'consent' then outcome in ('approved', 'rejected')
    when 'transfer' then outcome in ('completed', 'failed', 'cancelled')
    else outcome = 'completed'
  end
);
alter table report add constraint report_level_given
  check ((account_level is not null) = (kind = 'onboarding' and outcome = 'completed'));
