// The yardstick of deliveries: a process that posts a body to receivers over and over and writes nothing.
import { Pool } from 'undici'

/** Where to post what. */
export type PostJob = {
  origins: string[]
  body: string
  /** POSTs under way in all. */
  atOnce: number
  warmUpMs: number
  measuredMs: number
}

/** What was answered in the measured time. */
export type PostResult = { answered: number; seconds: number }

process.once('message', (job: PostJob) => void answer(job))

async function answer(job: PostJob): Promise<void> {
  process.send?.(await run(job))
  process.disconnect()
}

async function run({ origins, body, atOnce, warmUpMs, measuredMs }: PostJob): Promise<PostResult> {
  const connections = Math.ceil(atOnce / origins.length)
  const pools = origins.map((origin) => new Pool(origin, { connections }))
  let answered = 0
  const stopping = new AbortController()
  let posts = 0

  async function loop(pool: Pool): Promise<void> {
    while (!stopping.signal.aborted) {
      posts += 1
      const response = await pool.request({
        method: 'POST',
        path: `/loop/${posts}`,
        headers: { 'content-type': 'application/json' },
        body,
      })
      await response.body.dump()
      if (response.statusCode !== 200)
        throw new Error(`the receiver answered ${response.statusCode}`)
      answered += 1
    }
  }

  const loops = Array.from({ length: atOnce }, (_, n) => loop(pools[n % pools.length] as Pool))
  await sleep(warmUpMs)
  const before = answered
  const beganMs = performance.now()
  await sleep(measuredMs)
  const result = { answered: answered - before, seconds: (performance.now() - beganMs) / 1_000 }
  stopping.abort()
  await Promise.all(loops)
  await Promise.all(pools.map((pool) => pool.close()))
  return result
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
