// Measures how fast a merchant's lists answer beside a million payments and pushes, by each filter: the first page and the thousandth, in turns.
import fs from 'node:fs'
import path from 'node:path'
import { Agent, request } from 'undici'
import { bulkLoad, loading } from './bulk-load.ts'
import { onSystem } from './compare.ts'
import { waitForQuiet } from './load/processes.ts'
import { edgeHeaders, type Target } from './load/requests.ts'
import { all, quantile, shown, type Times, timesOf, verdict } from './load/times.ts'
import { table, whole } from './report.ts'
import { measureTables } from './store/growth-store.ts'
import { loadPushes, pushEventType, samplePayment } from './store/push-store.ts'
import { emptyFolder, onDatabaseOf, startMeshOn } from './systems.ts'

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

type List = { name: string; route: string; filter: Record<string, string> }

/** Every filter of both lists. All of the past is in each but those of one payment, which have one page. */
function listsFor({ paymentId, transactionId }: Sample): List[] {
  const created = { created_from: timeBefore(yearMs), created_to: timeBefore(hourMs) }
  const payments = (name: string, filter: List['filter']) => ({
    name: `payments, ${name}`,
    route: '/payments/list',
    filter,
  })
  const pushes = (name: string, filter: List['filter']) => ({
    name: `pushes, ${name}`,
    route: '/deliveries/list',
    filter,
  })
  return [
    payments('all', {}),
    payments('by status', { status: 'Expired' }),
    payments('by number of a payer', { mobile_number: '+12025550108' }),
    payments('by time of creation', created),
    payments('by transaction id', { transaction_id: transactionId }),
    pushes('all', {}),
    pushes('by status', { status: 'delivered' }),
    pushes('by type of the event', { event_type: pushEventType }),
    pushes('by time of creation', created),
    pushes('by payment', { payment_details_id: paymentId }),
  ]
}

function timeBefore(ms: number): string {
  return new Date(Date.now() - ms).toISOString().slice(0, 19).replace('T', ' ')
}

const hourMs = 3_600_000
const yearMs = 365 * 24 * hourMs

/** A payment of the past. */
type Sample = { paymentId: string; transactionId: string }

/** One list, by round; without times of a far page where there is one page. */
type Measured = { list: string; pages: number; first: Times[]; far: Times[] }

/** What was found. */
type Found = { payments: number; measured: Measured[] }

/** About ten minutes, three of them to store payments and pushes. */
export async function measureList(say: (line: string) => void): Promise<Found> {
  const folder = keptFolder || emptyFolder()
  await bulkLoad(folder, past, say)
  const mark = path.join(folder, 'pushes-loaded')
  if (!fs.existsSync(mark)) {
    await onDatabaseOf(folder, loading, loadPushes)
    fs.writeFileSync(mark, '')
  }
  return await onSystem(
    async () => {
      const system = await startMeshOn(folder)
      return keptFolder === '' ? system : { ...system, stop: system.stopServing }
    },
    async ({ target, databaseUrl }) => {
      const agent = new Agent({ connections: 1 })
      const read = readerOf(target, agent)
      const measured: Measured[] = []
      for (const { name, route, filter } of listsFor(await samplePayment(databaseUrl))) {
        const one = await measureOne(name, (cursor) => read(route, { ...filter, ...cursor }))
        say(goalLine(one))
        measured.push(one)
      }
      await agent.close()
      const { payments } = await measureTables(databaseUrl)
      return { payments, measured }
    },
  )
}

type Cursor = { cursor?: string }
type Page = { payments?: unknown[]; deliveries?: unknown[]; next_cursor: string | null }
type ReadPage = (cursor: Cursor) => Promise<Page>

async function measureOne(list: string, read: ReadPage): Promise<Measured> {
  const { cursor, pages } = await walk(read)
  const measured: Measured = { list, pages, first: [], far: [] }
  const turns: [times: Times[], look: () => Promise<Page>][] = [[measured.first, () => read({})]]
  if (pages > 1) turns.push([measured.far, () => read({ cursor })])
  for (const [, look] of turns) await timesOf(warmUps, look)
  for (let round = 0; round < rounds; round += 1) {
    for (const [times, look] of turns) {
      await waitForQuiet(quiet.maxMs, quiet.maxShare)
      times.push(await timesOf(looks, look))
    }
  }
  return measured
}

/** The cursor of the far page, or of the last one of a short list. */
async function walk(read: ReadPage): Promise<{ cursor: string; pages: number }> {
  let cursor = ''
  for (let pages = 1; ; pages += 1) {
    const { next_cursor: next } = await read(cursor === '' ? {} : { cursor })
    if (next === null || pages === farPage) return { cursor, pages }
    cursor = next
  }
}

/** Reads pages of a merchant's lists over one connection. Rejects for an answer other than a page with entries. */
function readerOf(target: Target, dispatcher: Agent) {
  return async (route: string, query: Record<string, string>): Promise<Page> => {
    const { statusCode, body } = await request(`http://127.0.0.1:${target.port}${route}`, {
      dispatcher,
      headers: edgeHeaders(target),
      query: { version: '2026-12-01', api_key: target.apiKey, ...query },
    })
    const page = (await body.json()) as Page
    if (statusCode !== 200 || (page.payments ?? page.deliveries)?.length === 0) {
      throw new Error(
        `a page of ${route} was answered by ${statusCode}: ${JSON.stringify(page).slice(0, 300)}`,
      )
    }
    return page
  }
}

/** The result as Markdown. */
export function describeList({ payments, measured }: Found): string[] {
  return [
    `\`GET /payments/list\` and \`GET /deliveries/list\`, 25 to a page, beside ${whole(payments)} payments of the merchant with a push each; one request at a time.`,
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
          far.length === 0 ? 'none' : shown(far[round] ?? [], 1),
        ]),
      ),
    ),
  ]
}

function goalLine({ list, pages, first, far }: Measured): string {
  if (far.length === 0) return `- ${list}: p99 of the only page ${p99(all(first)).toFixed(1)} ms.`
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
