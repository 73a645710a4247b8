// Statements on the queues that URLs get when they have their share of a lane's slots. They skip locked rows.
import { type Queryable, sql } from '#platform/db/db.ts'

/** Rows of its lanes that one statement reads, and of each at least. */
const rowsRead = { inAll: 256, ofLane: 16 }
/**
 * Queues of a lane beyond which it opens no further ones: while the lane has a free slot, at most 15 URLs can have their share,
 * so at least one of 16 queues can be served.
 */
const maxUrlQueues = 16

const head = (attempts: '< 1' | '<> 0') => `(
         select delivery_id, url from delivery
         where endpoint_id = lane.endpoint_id and url_queue = '' and state = 'pending'
           and attempts ${attempts} and next_attempt_at <= clock_now()
         order by next_attempt_at limit $2
         for update skip locked
       )`

const openStatement = sql(
  'delivery_open_url_queues',
  `with lane as (
     select endpoint_id, url_queues,
       greatest(case breaker when 'closed' then limit_now else 1 end / 2, 1) as url_slots,
       array(
         select url_key(url) from delivery
         where delivery.endpoint_id = endpoint.endpoint_id and state = 'sending'
       ) as in_flight
     from endpoint where endpoint_id = any($1::uuid[])
     order by endpoint_id
     for update skip locked
   ), waiting as (
     select lane.endpoint_id, head.delivery_id, head.url_key
     from lane cross join lateral (
       select delivery_id, url_key(url) as url_key from ${head('< 1')} as fresh
       union all
       select delivery_id, url_key(url) from ${head('<> 0')} as retry
     ) as head
     where cardinality(array_positions(lane.in_flight, head.url_key)) >= lane.url_slots
       and (head.url_key = any(lane.url_queues) or cardinality(lane.url_queues) <= ${maxUrlQueues})
   ), moved as (
     update delivery set url_queue = waiting.url_key
     from waiting
     where delivery.delivery_id = waiting.delivery_id
     returning delivery.endpoint_id, delivery.url_queue
   ), opened as (
     select endpoint_id, array_agg(distinct url_queue) as url_queues from moved group by endpoint_id
   )
   update endpoint set
     url_queues = array(select unnest(endpoint.url_queues) union select unnest(opened.url_queues)),
     ready_at = greatest(clock_now(), breaker_until), version = version + 1
   from opened
   where endpoint.endpoint_id = opened.endpoint_id`,
)

/**
 * Moves what waits at the head of these lanes for URLs that have their share into queues of those URLs, each row once, and
 * makes the lanes ready, those with an open breaker when its time ends: the next claim finds what is behind. Returns the number of
 * lanes of which something was moved. Locks the lanes and the rows that it reads, skipping locked ones.
 */
export function openUrlQueues(db: Queryable, laneIds: string[]): Promise<number> {
  const rows = Math.max(rowsRead.ofLane, Math.floor(rowsRead.inAll / laneIds.length))
  return db.run(openStatement, [laneIds, rows])
}
