// Measures how fast GET /payments/list answers beside a million payments: the first page and the thousandth, in turns.
import { Agent, request } from 'undici'
import { bulkLoad } from './bulk-load.ts'
import { onSystem } from './compare.ts'
import { waitForQuiet } from './load/processes.ts'
import { edgeHeaders, type Target } from './load/requests.ts'
import { all, quantile, shown, type Times, timesOf, verdict } from './load/times.ts'
import { table, whole } from './report.ts'
import { measureTables } from './store/growth-store.ts'
import { emptyFolder, startMeshOn } from './systems.ts'

const isSmall = process.env['BENCH_LIST_SMALL'] === '1'
const past = isSmall ? { payments: 30_000, events: 1_000 } : { payments: 1_000_000, events: 1_000 }
/** A folder that keeps the stored payments, also those of `bench:growth`. */
const keptFolder = process.env['BENCH_GROWTH_DIR'] ?? ''
const farPage = 1_000
const warmUps = 200
const looks = isSmall ? 200 : 1_000
const rounds = 5
const quiet = { maxMs: 15_000, maxShare: 0.25 }
/** A page far down is as fast as the first one when its p99 is within this of it, by the median of the rounds. */
const maxRatio = 1.2

/** What a merchant asks for: every payment of the past is in each of these lists. */
const lists: Record<string, Record<string, string>> = {
  'all payments': {},
  'by status': { status: 'Expired' },
  'by number of a payer': { mobile_number: '+12025550108' },
}

/** One list, by round. */
type Measured = { list: string; pages: number; first: Times[]; far: Times[] }

/** What was found. */
type Found = { payments: number; measured: Measured[] }

/** About five minutes, two of them to store the payments. */
export async function measureList(say: (line: string) => void): Promise<Found> {
  const folder = keptFolder || emptyFolder()
  await bulkLoad(folder, past, say)
  return await onSystem(
    async () => {
      const system = await startMeshOn(folder)
      return keptFolder === '' ? system : { ...system, stop: system.stopServing }
    },
    async ({ target, databaseUrl }) => {
      const agent = new Agent({ connections: 1 })
      const read = readerOf(target, agent)
      const measured: Measured[] = []
      for (const [list, filter] of Object.entries(lists)) {
        const one = await measureOne(list, (cursor) => read({ ...filter, ...cursor }))
        say(
          `${list}: page 1 ${shown(all(one.first), 1)}, page ${one.pages} ${shown(all(one.far), 1)}`,
        )
        measured.push(one)
      }
      await agent.close()
      const { payments } = await measureTables(databaseUrl)
      return { payments, measured }
    },
  )
}

type Cursor = { cursor?: string }
type Page = { payments: unknown[]; has_more: boolean; next_cursor: string | null }
type ReadPage = (cursor: Cursor) => Promise<Page>

async function measureOne(list: string, read: ReadPage): Promise<Measured> {
  const { cursor, pages } = await walk(read)
  const [first, far] = [() => read({}), () => read({ cursor })]
  for (const one of [first, far]) await timesOf(warmUps, one)
  const measured: Measured = { list, pages, first: [], far: [] }
  for (let round = 0; round < rounds; round += 1) {
    await waitForQuiet(quiet.maxMs, quiet.maxShare)
    measured.first.push(await timesOf(looks, first))
    await waitForQuiet(quiet.maxMs, quiet.maxShare)
    measured.far.push(await timesOf(looks, far))
  }
  return measured
}

/** The cursor of the far page, or of the last one of a small past. */
async function walk(read: ReadPage): Promise<{ cursor: string; pages: number }> {
  let cursor = ''
  for (let pages = 1; ; pages += 1) {
    const { next_cursor: next } = await read(cursor === '' ? {} : { cursor })
    if (next === null || pages === farPage) return { cursor, pages }
    cursor = next
  }
}

/** Reads pages of a merchant's list over one connection. Rejects for an answer other than a whole page. */
function readerOf(target: Target, dispatcher: Agent) {
  return async (query: Record<string, string>): Promise<Page> => {
    const { statusCode, body } = await request(`http://127.0.0.1:${target.port}/payments/list`, {
      dispatcher,
      headers: edgeHeaders(target),
      query: { version: '2026-12-01', api_key: target.apiKey, ...query },
    })
    const page = (await body.json()) as Page
    if (statusCode !== 200 || page.payments.length === 0) {
      throw new Error(`a page was answered by ${statusCode}: ${JSON.stringify(page).slice(0, 300)}`)
    }
    return page
  }
}

/** The result as Markdown. */
export function describeList({ payments, measured }: Found): string[] {
  return [
    `\`GET /payments/list\`, 25 to a page, beside ${whole(payments)} payments of the merchant; one request at a time.`,
    '',
    ...measured.map(goalLine),
    '',
    ...table(
      ['list', 'round', 'first page p50 / p95 / p99 ms', 'far page p50 / p95 / p99 ms'],
      measured.flatMap(({ list, first, far }) =>
        first.map((times, round) => [
          list,
          String(round + 1),
          shown(times, 1),
          shown(far[round] ?? [], 1),
        ]),
      ),
    ),
  ]
}

function goalLine({ list, pages, first, far }: Measured): string {
  const ratios = first.map((times, round) => p99(far[round] ?? []) / p99(times))
  const ratio = quantile(
    ratios.toSorted((a, b) => a - b),
    0.5,
  )
  const ms = `${p99(all(far)).toFixed(1)} ms, of the first ${p99(all(first)).toFixed(1)} ms`
  return `- **${list}: p99 of page ${whole(pages)} ${ms}; ratio ${ratio.toFixed(2)} (median of the rounds), at most ${maxRatio}: ${verdict(ratio <= maxRatio)}.**`
}

function p99(times: Times): number {
  return quantile(times, 0.99)
}
