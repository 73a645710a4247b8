// The one statement of the bare yardstick, and the count of sessions that a run has stored.
import { onDatabase } from './on-database.ts'

/** Finds an account of an institution by number and inserts a session for it, prepared; commits with its end. */
export function openSessionQuery(
  institutionName: string,
  mobileNumber: string,
  session: { sessionId: string; tokenHash: Buffer },
) {
  return {
    name: 'bench_open_session',
    text: `with found as (
         select a.account_id, a.institution_id, a.account_number, a.mobile_number, a.email,
           a.first_name, a.last_name, a.currency, a.status, a.level, a.funds_access
         from account a join institution i using (institution_id)
         where i.name = $1 and a.mobile_number = $2
           and a.status in ('available', 'suspended', 'closed')
       ), opened as (
         insert into session (session_id, project_id, institution_id, account_id, token_hash, ttl_s,
           expire_time)
         select $3, institution_id, institution_id, account_id, $4, 900,
           clock_now() + interval '900 s'
         from found
       )
       select * from found`,
    values: [institutionName, mobileNumber, session.sessionId, session.tokenHash],
  }
}

/** Counts the sessions. */
export async function countSessions(databaseUrl: string): Promise<number> {
  return await onDatabase(databaseUrl, async (client) => {
    const counted = await client.query<{ sessions: number }>(
      'select count(*)::integer as sessions from accounts.session',
    )
    return counted.rows[0]?.sessions ?? 0
  })
}
