// The look-up of the bare yardstick, and the count of sessions that a run has stored.
import { onDatabase } from './on-database.ts'

/** Finds an account of an institution by number, prepared. */
export function findAccountQuery(institutionName: string, mobileNumber: string) {
  return {
    name: 'bench_find_account',
    text: `select a.account_id, a.account_number, a.mobile_number, a.email, a.first_name, a.last_name,
         a.currency, a.status, a.level, a.funds_access
       from account a join institution i using (institution_id)
       where i.name = $1 and a.mobile_number = $2
         and a.status in ('available', 'suspended', 'closed')`,
    values: [institutionName, mobileNumber],
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
