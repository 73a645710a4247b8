// An upgrade under load: the schema is expanded, both versions serve side by side, and the schema is contracted.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import type { Replica } from '../lab/parts.ts'
import { migrate, thisVersion } from '../lab/version.ts'
import { type Fault, seconds } from './fault.ts'
import { nothingFails, restartAll } from './parts.ts'

/** How long one replica of each process is of the old version and one of the new, beside the time of the restarts. */
const mixedMs = 10_000
const metricsWithinMs = 30_000

/** Requests and RPCs that replicas have answered since they began. */
async function answered(replicas: readonly Replica[]): Promise<number> {
  const counts = await Promise.all(
    replicas.map(async ({ host }) => {
      // A scrape fails while the database has no connection free for it.
      const text = await eventually(async () => {
        const response = await fetch(`http://${host.address}:8081/metrics`)
        if (!response.ok) throw new Error(`no metrics of ${host.name}: ${response.status}`)
        return await response.text()
      }, metricsWithinMs)
      const values = text.matchAll(
        /^payweave_(?:http_requests_total|rpc_duration_seconds_count)\{.*\} (\d+)$/gm,
      )
      return [...values].reduce((sum, [, value]) => sum + Number(value), 0)
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

export const upgrade: Fault = {
  name: 'upgrade',
  title: 'An earlier version is upgraded to this one: expand, both versions side by side, contract',
  required: 'no operation fails; both versions answer; a stop takes at most 3 s',
  async inject(lab) {
    const parts = [...Map.groupBy(lab.parts.all, ({ part }) => part).values()]
    const some = parts.flatMap((replicas) => replicas.slice(0, 1))
    const others = parts.flatMap((replicas) => replicas.slice(1))
    const stops = { stops: 0, unclean: 0, maxStopS: 0 }
    const expanded = await migrate(thisVersion, lab.databaseUrl, 'expand')
    await restartAll(lab, some, stops, thisVersion)
    const before = { byNew: await answered(some), byOld: await answered(others) }
    await sleep(mixedMs)
    const byNew = (await answered(some)) - before.byNew
    const byOld = (await answered(others)) - before.byOld
    await restartAll(lab, others, stops, thisVersion)
    const contracted = await migrate(thisVersion, lab.databaseUrl, 'contract')
    return { facts: { ...stops, expanded, contracted, byNew, byOld } }
  },
  mustBeZero: (measures, facts) => ({
    ...nothingFails(measures, facts),
    'versions that answered nothing while both ran': [facts['byNew'], facts['byOld']].filter(
      (count) => !(Number(count) > 0),
    ).length,
  }),
  measured: ({ gapS }, { expanded, contracted, byNew, byOld, stops, maxStopS = Number.NaN }) =>
    `${expanded} files of expand, ${contracted} of contract; in ${mixedMs / 1_000} s with both the old version answered ${byOld} requests and RPCs, the new one ${byNew}; ${stops} stops of at most ${seconds(maxStopS)}; no create for ${seconds(gapS)}`,
}
