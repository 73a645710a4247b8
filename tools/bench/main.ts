// `npm run bench`: measures the parts named on the command line, or all; writes the pages of results/ when asked to record.
import { compareCreate, compareStatus } from './compare.ts'
import { compareBill, describeBills } from './compare-bill.ts'
import { compareLife, countLifeStatements, describeLife, measureRest } from './compare-life.ts'
import { compareQuotes } from './compare-quotes.ts'
import { compareSessions } from './compare-sessions.ts'
import { compareTransfers } from './compare-transfers.ts'
import { describePaint, measurePaint } from './console/paint.ts'
import { describeConsole, measureConsole } from './console.ts'
import { measureDelivery } from './delivery/delivery.ts'
import { measureLanes } from './delivery/lanes.ts'
import { describeLanes } from './delivery/lanes-report.ts'
import { describeDelivery } from './delivery/report.ts'
import { measureFootprint } from './footprint.ts'
import { compareGrowth } from './growth.ts'
import { describeGrowth } from './growth-report.ts'
import { describeLatency, measureLatency } from './latency.ts'
import { compareLedger, describeLedger } from './ledger.ts'
import { describeList, measureList } from './list.ts'
import { describeFootprint, describeStored, describeTurns, record } from './report.ts'
import { describeSteady, measureSteady } from './steady.ts'
import { describeTenants, measureTenants } from './tenants.ts'

const parts: Record<string, () => Promise<{ title: string; lines: string[] }>> = {
  async create() {
    const turns = await compareCreate(say)
    const route = '`POST /payments/request`'
    const lines = describeTurns(turns, {
      what: 'creates',
      route,
      minRatio: 0.8,
      minOfStatement: 0.4,
      maxTail: 2,
    })
    return { title: 'Create', lines: [...lines, '', ...describeStored(turns)] }
  },
  async status() {
    const turns = await compareStatus(say)
    const route = '`GET /payments/status`'
    return {
      title: 'Status',
      lines: describeTurns(turns, { what: 'reads', route, minRatio: 0.8, maxTail: 2 }),
    }
  },
  async ledger() {
    return { title: 'Ledger', lines: describeLedger(await compareLedger(say)) }
  },
  async bill() {
    return { title: 'Bill payments', lines: describeBills(await compareBill(say)) }
  },
  async life() {
    const turns = await compareLife(say)
    const lines = describeLife(turns, await measureRest(), await countLifeStatements())
    return { title: 'Whole payments', lines }
  },
  async quote() {
    const lines = describeTurns(await compareQuotes(say), {
      what: 'quotes',
      route: '`POST /quote`',
      minRatio: 0.7,
      maxTail: 2,
    })
    return { title: 'Quotes', lines }
  },
  async session() {
    const lines = describeTurns(await compareSessions(say), {
      what: 'sessions',
      route: '`POST /account/account_session`',
      minRatio: 0.7,
    })
    return { title: 'Account sessions', lines }
  },
  async p2p() {
    const lines = describeTurns(await compareTransfers(say), {
      what: 'transactions',
      route: '`POST /institution/transaction`',
    })
    return { title: 'P2p transactions', lines }
  },
  async delivery() {
    return { title: 'Delivery', lines: describeDelivery(await measureDelivery(say)) }
  },
  async lanes() {
    return { title: 'Delivery lanes', lines: describeLanes(await measureLanes(say)) }
  },
  async latency() {
    return { title: 'Latency of pushes', lines: describeLatency(await measureLatency(say)) }
  },
  async growth() {
    return { title: 'Growth', lines: describeGrowth(await compareGrowth(say)) }
  },
  async console() {
    return { title: 'Console', lines: describeConsole(await measureConsole(say)) }
  },
  async paint() {
    return { title: 'First paint', lines: describePaint(await measurePaint(say)) }
  },
  async list() {
    return { title: 'Lists of a merchant', lines: describeList(await measureList(say)) }
  },
  async tenants() {
    return {
      title: 'A quiet tenant beside a noisy one',
      lines: describeTenants(await measureTenants(say)),
    }
  },
  async steady() {
    return { title: 'Steady work', lines: describeSteady(await measureSteady(say)) }
  },
  async footprint() {
    return { title: 'Start-up and memory', lines: describeFootprint(await measureFootprint(say)) }
  },
}

const words = process.argv.slice(2)
const records = words.includes('--record')
const named = words.filter((word) => word !== '--record')
const unknown = named.filter((word) => !Object.hasOwn(parts, word))
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`)
  process.exit(2)
}
for (const [name, run] of Object.entries(parts)) {
  if (named.length > 0 && !named.includes(name)) continue
  const { title, lines } = await run()
  console.log(`\n# ${title}\n\n${lines.join('\n')}\n`)
  if (records) record(title, lines)
}

function say(line: string): void {
  console.error(line)
}
