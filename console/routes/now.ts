// Now: the parts with their health, what waits with an hour of history, and alerts with their runbooks.
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { Failure } from '#core/errors/errors.ts'
import { isOfStaff } from '#platform/rpc/auth/roles.ts'
import type { Work, Worker } from '../http/work.ts'
import { type Cell, count, type Section, text } from '../pages/blocks.ts'
import { sendSections } from '../pages/render.ts'
import type { Alert, BacklogTrend } from '../parts/history.ts'
import type { Parts, Replica, Seen } from '../parts/reader.ts'
import { rules, rulesOfPrometheus, runbookOf } from '../parts/rules.ts'
import { firstRows } from './list.ts'

type Options = { worker: Worker; parts: Parts }

const runbooks = join(import.meta.dirname, '..', '..', 'docs', 'runbooks')
const runbookPages = globSync('*/*.md', { cwd: runbooks })
const maxReplicas = 60

/** Registers `/now` and the runbooks below it. */
export function registerNow(app: FastifyInstance, { worker, parts }: Options): void {
  app.get(
    '/now',
    worker.page((work) => {
      requireStaff(work)
      const seen = parts.seen()
      const sections = seen === undefined ? [notYet] : sectionsOf(seen)
      return sendSections(work.reply, { title: 'Now', sections })
    }),
  )
  app.get(
    '/now/runbooks/:name',
    worker.page(async (work) => {
      requireStaff(work)
      const { name } = work.request.params as { name: string }
      const alerts = [...rules.map(({ alert }) => alert), ...rulesOfPrometheus]
      const alert = alerts.find((one) => runbookOf(one) === name)
      if (alert === undefined) throw new Failure('ENDPOINT_NOT_FOUND', 'There is no such page.')
      const page = runbookPages.find((one) => basename(one, '.md') === name) ?? ''
      const source = await readFile(join(runbooks, page), 'utf8')
      return sendSections(work.reply, { title: alert, sections: [{ source }] })
    }),
  )
}

/** What these pages show is no RPC, so that no service asks for the role. Throws PERMISSION_DENIED. */
function requireStaff({ session }: Work): void {
  if (!isOfStaff(session.memberships)) {
    throw new Failure('PERMISSION_DENIED', 'Your roles do not allow this.')
  }
}

const notYet: Section = { note: 'The parts have not been read yet. Open the page again.' }

function sectionsOf({ timeMs, replicas, trends, alerts }: Seen): Section[] {
  return [
    { facts: [['Read', { at: timestampFromMs(timeMs) }]] },
    alertsSection(alerts),
    partsSection(replicas),
    {
      heading: 'Backlogs',
      note: 'The highest value of any replica, and how it was in the last hour, as far as this process of the console has run. Prometheus keeps more.',
      table: {
        head: ['What', 'Now', 'Last hour'],
        empty: 'Nothing is read.',
        rows: trends.map(trendRow),
      },
    },
    prometheusSection,
  ]
}

function alertsSection(alerts: Alert[]): Section {
  return {
    heading: 'Alerts',
    note: `${rules.length} of the ${rules.length + rulesOfPrometheus.length} shipped rules, by what the console reads itself; those of a connector where METRICS_URLS names it.`,
    table: {
      head: ['Alert', 'State', 'For', 'Since', 'Value', 'Runbook'],
      empty: 'No condition of an alert holds.',
      rows: alerts.map(({ alert, severity, isFiring, group, sinceMs, value, as }) => [
        text(alert),
        { state: isFiring ? severity : 'pending' },
        text(group),
        { at: timestampFromMs(sinceMs) },
        count(as === 'age' ? age(value) : as === 'share' ? percent(value) : shown(value)),
        runbookCell(alert),
      ]),
    },
  }
}

function runbookCell(alert: string): Cell {
  const name = runbookOf(alert)
  return { text: name, href: `/now/runbooks/${name}` }
}

/** What the list of alerts cannot have. */
const prometheusSection: Section = {
  heading: 'Alerts of Prometheus alone',
  note: 'The console does not evaluate these: they need more than the metrics of the parts in one hour.',
  table: {
    head: ['Alert', 'Runbook'],
    empty: '',
    rows: rulesOfPrometheus.map((alert) => [text(alert), runbookCell(alert)]),
  },
}

function partsSection(replicas: Replica[]): Section {
  const { rows, cut } = firstRows(
    replicas.toSorted((one, other) => Number(one.problem === '') - Number(other.problem === '')),
    maxReplicas,
  )
  return {
    heading: 'Parts',
    commands: ['status'],
    note: `Every replica whose address is known; those that are not ready come first.${cut}`,
    table: {
      head: ['Part', 'Address', 'Health', 'Problem', 'Started', 'Memory', 'Event loop, p99'],
      empty: 'METRICS_URLS names no part.',
      rows: rows.map(({ part, address, problem, startMs, memoryBytes, loopLagS }) => [
        text(part),
        text(address),
        { state: problem === '' ? 'ready' : 'not ready' },
        text(problem),
        { at: startMs === undefined ? undefined : timestampFromMs(startMs) },
        count(memoryBytes === undefined ? '' : `${Math.round(memoryBytes / 1_048_576)} MiB`),
        count(loopLagS === undefined ? '' : `${Math.round(loopLagS * 1_000)} ms`),
      ]),
    },
  }
}

function trendRow({ label, isAge, values }: BacklogTrend) {
  const word = (value: number | undefined) =>
    value === undefined ? 'not read' : isAge === true ? age(value) : shown(value)
  const max = Math.max(...values.map((value) => value ?? 0), 0)
  const words = `${label}: at most ${word(max)} in ${values.length} rounds`
  return [text(label), count(word(values.at(-1))), { trend: { label: words, values } }]
}

/** A count, or a value with what matters of its fraction. */
function shown(value: number): string {
  return String(Number(value.toPrecision(3)))
}

/** A share: `2.5 %`. */
function percent(value: number): string {
  return `${shown(100 * value)} %`
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** A time span in its largest unit: `3 min`. */
function age(seconds: number): string {
  const [unit, size] = units.find(([, one]) => seconds >= 2 * one) ?? ['s', 1]
  return `${Math.round(seconds / size)} ${unit}`
}
