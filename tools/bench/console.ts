// Measures how fast the console shows its list of payments beside a million of them: the first page and the thousandth.
import fs from 'node:fs'
import path from 'node:path'
import { localPeople } from '../../console/sign-in/local-provider.ts'
import { signInKeyFile } from '../../deploy/local/sign-in-key.ts'
import { type Browser, newBrowser } from '../../test/console/http-browser.ts'
import { bulkLoad } from './bulk-load.ts'
import { onSystem } from './compare.ts'
import { waitForQuiet } from './load/processes.ts'
import { all, quantile, shown, type Times, timesOf, verdict } from './load/times.ts'
import { table, whole } from './report.ts'
import { measureTables } from './store/growth-store.ts'
import { consoleUrl, emptyFolder, startMeshOn } from './systems.ts'

const isSmall = process.env['BENCH_CONSOLE_SMALL'] === '1'
const past = isSmall ? { payments: 60_000, events: 1_000 } : { payments: 1_000_000, events: 1_000 }
/** A folder that keeps the stored payments, also those of `bench:growth`. */
const keptFolder = process.env['BENCH_GROWTH_DIR'] ?? ''
const farPage = 1_000
const warmUps = 50
const looks = isSmall ? 100 : 200
const rounds = 3
const quiet = { maxMs: 15_000, maxShare: 0.25 }
const maxP95Ms = 150
/** A page far down the list is as fast as the first one when its median is within this of it. */
const maxRatio = 1.2

/** What was found. */
type Found = { payments: number; pages: number; first: Times[]; far: Times[] }

/** About three minutes, two of them to store the payments. */
export async function measureConsole(say: (line: string) => void): Promise<Found> {
  const folder = keptFolder || emptyFolder()
  await bulkLoad(folder, past, say)
  return await onSystem(
    async () => {
      const system = await startMeshOn(folder)
      return keptFolder === '' ? system : { ...system, stop: system.stopServing }
    },
    async ({ databaseUrl }) => {
      const people = await signInAll(folder)
      const base = await findProject(people)
      const get = readerOf(people)
      const { url, pages } = await walk(get, base)
      say(`walked ${pages} pages`)
      for (let n = 0; n < warmUps; n += 1) for (const page of [base, url]) await get(page)
      const found: Found = { payments: 0, pages, first: [], far: [] }
      for (let round = 1; round <= rounds; round += 1) {
        await waitForQuiet(quiet.maxMs, quiet.maxShare)
        found.first.push(await timesOf(looks, () => get(base)))
        await waitForQuiet(quiet.maxMs, quiet.maxShare)
        found.far.push(await timesOf(looks, () => get(url)))
        say(`round ${round} of ${rounds}`)
      }
      const { payments } = await measureTables(databaseUrl)
      return { ...found, payments }
    },
  )
}

/** Everybody who sees the project of the payments: what one person may ask for in a minute is limited. */
async function signInAll(folder: string): Promise<Browser[]> {
  const key = fs.readFileSync(path.join(folder, 'secrets', 'console', signInKeyFile), 'utf8').trim()
  const people = localPeople.filter(({ project = 'demo' }) => project === 'demo')
  return await Promise.all(
    people.map(async ({ id }) => {
      const browser = newBrowser(consoleUrl)
      const choice = await browser.follow(`/local/link/${key}`)
      await browser.follow(`${choice.url}&login_hint=${id}`)
      return browser
    }),
  )
}

async function findProject(people: Browser[]): Promise<string> {
  const { text = '' } = (await people.at(-1)?.follow('/')) ?? {}
  const [project] = /\/projects\/[\w-]{36}/.exec(text) ?? []
  if (project === undefined) throw new Error('the console shows no project')
  return `${project}/payments`
}

/** Reads pages in the names of all people in turn. */
function readerOf(people: Browser[]) {
  let next = 0
  return async (page: string): Promise<string> => {
    const { status, text } = (await people[next++ % people.length]?.get(page)) ?? {}
    if (status !== 200 || text === undefined) throw new Error(`${page} answered ${status}`)
    return text
  }
}

type Get = ReturnType<typeof readerOf>

/** Follows "Older" to the far page, or to the last one of a small past. */
async function walk(get: Get, base: string): Promise<{ url: string; pages: number }> {
  let url = base
  for (let pages = 1; ; pages += 1) {
    const [, href] = /href="([^"]+)" rel="next"/.exec(await get(url)) ?? []
    if (href === undefined || pages === farPage) return { url, pages }
    url = href.replaceAll('&amp;', '&')
  }
}

/** The result as Markdown. */
export function describeConsole({ payments, pages, first, far }: Found): string[] {
  const [p95, middle, farMiddle] = [
    quantile(all(first), 0.95),
    quantile(all(first), 0.5),
    quantile(all(far), 0.5),
  ]
  const ratio = farMiddle / middle
  return [
    `The list of a merchant's payments, 50 to a page, beside ${whole(payments)} payments; one request at a time, the page whole.`,
    '',
    `**First page: p95 ${p95.toFixed(0)} ms < ${maxP95Ms} ms: ${verdict(p95 < maxP95Ms)}. Page ${whole(pages)}: median ${ratio.toFixed(2)} times that of the first, at most ${maxRatio}: ${verdict(ratio <= maxRatio)}.**`,
    '',
    ...table(
      ['round', 'first page p50 / p95 / p99 ms', `page ${whole(pages)} p50 / p95 / p99 ms`],
      first.map((times, index) => [String(index + 1), shown(times), shown(far[index] ?? [])]),
    ),
  ]
}
