-- How merchants' pages and receipts look. A table of its own: most merchants have no row, and a logo is larger than all the rest of one.

create table merchant_branding (
  project_id uuid not null,
  merchant_id uuid not null,
  color text not null check (color = '' or color ~ '^#[0-9a-f]{6}$'),
  -- PNG without metadata; empty: none.
  logo_png bytea not null check (length(logo_png) <= 65536),
  logo_digest text not null check ((logo_digest = '') = (length(logo_png) = 0)),
  support_email text not null check (length(support_email) <= 200),
  support_phone text not null check (support_phone = '' or support_phone ~ '^\+[1-9][0-9]{4,14}$'),
  website_url text not null check (website_url = '' or (website_url like 'https://%' and length(website_url) <= 200)),
  update_time timestamptz not null default clock_now(),
  primary key (project_id, merchant_id),
  foreign key (project_id, merchant_id) references merchant
);
