// One connection to the database of a system, for the data and counts of a benchmark.
import { Client } from 'pg'

/** Works on a connection of its own, which is always closed. */
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
