// The yardstick of account sessions: a bare Fastify program that looks an account up with pg and answers it as JSON. It does not
// authenticate or write: it is the minimum that a look-up can cost.
import { fastify } from 'fastify'
import { Pool } from 'pg'
import { findAccountQuery } from '../store/session-store.ts'

const pool = new Pool({
  connectionString: process.env['DATABASE_URL'],
  max: 16,
  options: '-c search_path=accounts',
})
const app = fastify()

app.post('/account/account_session', async (request) => {
  const { lookup_value: number, institution_name: institution } = request.body as Record<
    string,
    string
  >
  const { rows } = await pool.query(findAccountQuery(institution ?? '', number ?? ''))
  return { data: { account: rows[0] } }
})

await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) })
process.send?.({ ready: true })
process.once('disconnect', () => process.exit(0))
