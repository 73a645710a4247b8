// One connection to the database of a system, for what a benchmark lays down or counts; it must not know a table.
import { Client } from 'pg'

/** Works on a connection of its own, which is closed whatever happens. */
export async function onDatabase<T>(
  databaseUrl: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
