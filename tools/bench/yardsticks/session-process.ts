// The yardstick of account sessions: a bare Fastify program that looks an account up with pg, commits the row of a session and answers both as
// JSON. It authenticates nobody and checks nothing: it is the minimum that a session can cost.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { fastify } from 'fastify'
import { Pool } from 'pg'
import { openSessionQuery } from '../store/session-store.ts'

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
  const token = randomBytes(32)
  const tokenHash = createHash('sha256').update(token).digest()
  const session = { sessionId: randomUUID(), tokenHash }
  const { rows } = await pool.query(openSessionQuery(institution ?? '', number ?? '', session))
  return { data: { account: rows[0], session: { session_token: token.toString('base64url') } } }
})

await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) })
process.send?.({ ready: true })
process.once('disconnect', () => process.exit(0))
