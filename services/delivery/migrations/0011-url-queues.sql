-- One URL gets at most half of a lane's slots. What waits for a URL that has its share is moved out of the way of the others, once.

-- Queue of its lane that a pending push waits in: empty for the lane's own, else the key of the URL.
alter table delivery add column url_queue bytea not null default '';

alter table endpoint
  -- Key of the URL that all pushes in the lane's queues are for; null when there may be several.
  add column only_url bytea,
  -- Keys of the URLs that have a queue of their own.
  add column url_queues bytea[] not null default '{}';

-- Written with other operators than the indexes of the version before, so that its statements keep theirs (delivery_fresh,
-- delivery_retry) and those of this version cannot choose them: they would walk what waits in the queues of URLs.
create index delivery_queue_fresh on delivery (endpoint_id, url_queue, next_attempt_at)
  where state = 'pending' and attempts < 1;
create index delivery_queue_retry on delivery (endpoint_id, url_queue, next_attempt_at)
  where state = 'pending' and attempts <> 0;
