// Faults of PostgreSQL: the machine of the primary is lost; a planned switchover; all servers are restarted in turn.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { eventually } from '../../support/eventually.ts'
import { startCommits } from '../lab/commits.ts'
import type { Lab } from '../lab/lab.ts'
import type { Host } from '../lab/network.ts'
import type { Measures } from '../report/measure.ts'
import { type Facts, type Fault, seconds } from './fault.ts'

const newPrimaryWithinMs = 90_000
const standbyWithinMs = 90_000
/** A new primary takes commits once a standby follows it. */
const commitsAgainMs = 5_000
/** Time within which every process notices that its primary is a standby. */
const noticedWithinMs = 5_000

const primaryKilled: Fault = {
  name: 'primary-killed',
  title: 'The machine of the PostgreSQL primary is lost',
  required: 'creates resume within 3 s of the new primary, no manual step',
  async inject({ postgres }) {
    const lost = await postgres.primary()
    const commits = await startCommits(postgres)
    const beganMs = performance.now()
    await postgres.lose(lost)
    const detectionS = await secondsUntilPrimary(
      postgres,
      (host) => host.name !== lost.name,
      beganMs,
    )
    await sleep(commitsAgainMs)
    const noCommitS = await commits.stop()
    return { facts: { detectionS, noCommitS }, restore: () => postgres.bringBack(lost) }
  },
  measured: ({ gapS }, { detectionS = Number.NaN, noCommitS = Number.NaN }) =>
    `no create for ${seconds(gapS)}, no commit of a bare client for ${ofBareClient(noCommitS)}; Patroni had a new primary after ${seconds(detectionS)}`,
}

const switchover: Fault = {
  name: 'switchover',
  title: 'A planned switchover of PostgreSQL',
  required: 'no create for at most 3 s; no process stays on the former primary',
  async inject(lab) {
    const { from, ...times } = await switchAndTime(lab)
    const stuck = await connectionsLeft(lab, from)
    return { facts: { ...times, stuck } }
  },
  mustBeZero: (_, { stuck = Number.NaN }) => ({ 'connections to the former primary': stuck }),
  measured: switchoverMeasured,
}

/** Orders a switchover; resolves to the former primary and what it took. */
async function switchAndTime({ postgres }: Lab) {
  const commits = await startCommits(postgres)
  const beganMs = performance.now()
  const { from, to } = await postgres.switchover()
  const switchedS = await secondsUntilPrimary(postgres, ({ name }) => name === to.name, beganMs)
  await sleep(commitsAgainMs)
  return { from, switchedS, noCommitS: await commits.stop() }
}

/** Runs from before the bare client have no such figure. */
const ofBareClient = (noCommitS: number) =>
  Number.isNaN(noCommitS) ? 'not measured' : seconds(noCommitS)

/** The words of the report. */
function switchoverMeasured(
  { gapS }: Measures,
  { switchedS = Number.NaN, noCommitS = Number.NaN }: Facts,
): string {
  return `no create for ${seconds(gapS)}, no commit of a bare client for ${ofBareClient(noCommitS)}; Patroni switched in ${seconds(switchedS)}`
}

async function secondsUntilPrimary(
  { findPrimary }: Lab['postgres'],
  isIt: (host: Host) => boolean,
  sinceMs: number,
): Promise<number> {
  await eventually(async () => {
    const host = await findPrimary()
    return host !== undefined && isIt(host)
  }, newPrimaryWithinMs)
  return (performance.now() - sinceMs) / 1_000
}

/** Connections of our services to a server that is a standby now, once they have had time to leave it. */
async function connectionsLeft({ postgres }: Lab, member: Host): Promise<number> {
  const count = async (): Promise<number> => {
    // A standby: the product's own client would refuse it, the driver does not.
    const client = new Client({ connectionString: postgres.url('postgres', member) })
    await client.connect()
    try {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity where usename like 'payweave\\_%'`,
      )
      return rows[0]?.count ?? 0
    } finally {
      await client.end()
    }
  }
  let left = await eventually(async () => ({ count: await count() }), standbyWithinMs)
  await eventually(async () => {
    left = { count: await count() }
    return left.count === 0
  }, noticedWithinMs).catch(() => undefined)
  return left.count
}

const rolling: Fault = {
  name: 'postgres-rolling',
  title:
    'Every PostgreSQL server is restarted, one after the other, the primary last and after a switchover',
  required: 'no create for at most 3 s; no process stays on the former primary',
  async inject(lab) {
    const { postgres } = lab
    for (const standby of await postgres.standbys()) {
      await postgres.restart(standby)
      await postgres.healthy()
    }
    const { from, ...times } = await switchAndTime(lab)
    const stuck = await connectionsLeft(lab, from)
    await postgres.restart(from)
    await postgres.healthy()
    return { facts: { ...times, stuck } }
  },
  mustBeZero: (_, { stuck = Number.NaN }) => ({ 'connections to the former primary': stuck }),
  measured: switchoverMeasured,
}

export const postgresFaults = [primaryKilled, switchover, rolling]
