// What `npm start` runs, for a campaign: each process has a clock that a file moves, says how much of its heap lives, and reaches
// PostgreSQL and NATS over links.
import path from 'node:path'
import { runInForeground } from '../../../deploy/local/foreground.ts'
import { nodeParts } from '../../../deploy/local/process/parts.ts'
import { heapFolder } from './heaps.ts'

const loaded = ['moved-clock.mjs', 'live-heap.mjs'].map((name) => {
  return `--import ${path.join(import.meta.dirname, name)}`
})

/** The address with the port that the variable has, if it has one. */
function overLink(address: string, variable: string): string {
  const port = process.env[variable]
  return port === undefined ? address : address.replace(/:\d+(?=\/|$)/, `:${port}`)
}

await runInForeground((settings, stores) => {
  const linked = {
    ...stores,
    databaseUrl: overLink(stores.databaseUrl, 'CAMPAIGN_POSTGRES_PORT'),
    natsUrl: overLink(stores.natsUrl, 'CAMPAIGN_NATS_PORT'),
  }
  return nodeParts(settings, linked, process.env).map((part) => ({
    ...part,
    env: {
      ...part.env,
      NODE_OPTIONS: loaded.join(' '),
      CLOCK_FILE: path.join(settings.dataDir, `clock-${part.name}`),
      HEAP_FOLDER: path.join(settings.dataDir, heapFolder),
    },
  }))
})
