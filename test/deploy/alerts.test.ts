// Holds the alerts and the dashboards against the metrics that we and our exporters have, their runbooks, and Prometheus’s own tool.
import { execFile, execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { schemaOwners } from '#platform/db/schemas.ts'
import {
  backlogs,
  rulesOfPrometheus,
  runbookOf,
  rules as shown,
} from '../../console/parts/rules.ts'
import { temporaryFolder } from '../support/servers.ts'
import { type Manifest, ofKind, optional, overlays, render } from './kustomize.ts'
import { programOrSkip } from './program.ts'

type Rule = {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}
type Recorded = { record: string; expr: string; labels: { namespace: string } }
type Panel = { title: string; targets: { expr: string }[] }

const root = path.join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
/** The sections of each runbook, in this order. */
const sections = ['Symptom', 'Impact', 'Diagnosis', 'Fix', 'Prevention']
const folder = temporaryFolder('alerts')
const manifests = render('production')
type Group = { rules: (Rule | Recorded)[] }
const groupsOf = (objects: Manifest[]): Group[] =>
  ofKind(objects, 'PrometheusRule').flatMap(({ spec }) => spec.groups)
const groups = groupsOf(manifests)
const rules = groups.flatMap((group) => group.rules.filter((rule) => 'alert' in rule))
const dashboards = ofKind(manifests, 'ConfigMap')
  .filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1')
  .flatMap(({ data }) => Object.values(data as Record<string, string>))
  .map((text) => JSON.parse(text) as { uid: string; panels: Panel[] })
const panels = dashboards.flatMap((dashboard) => dashboard.panels)
const queries = [
  ...backlogs.map(({ label, metric }) => ({ of: label, expr: metric })),
  ...rules.map(({ alert, expr }) => ({ of: alert, expr })),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ of: title, expr }))),
]

afterAll(() => fs.rmSync(folder, { recursive: true }))

/** The names of the metrics that our code makes, as its sources say them; `${service}` stands for any service. */
function ownMetrics(): RegExp[] {
  const names = "name: .payweave_[a-z_]*(\\$\\{service\\}[a-z_]+)?|'payweave_[a-z_]+'"
  const text = execFileSync('git', ['grep', '-hoE', names, '--', '*.ts', ':!test', ':!console'], {
    cwd: root,
    encoding: 'utf8',
  })
  return (text.match(/payweave_[a-z_${}]+/g) ?? []).map(
    (name) => new RegExp(`^${name.replace('${service}', `(${schemaOwners.join('|')})`)}$`),
  )
}

/** The seconds of a duration such as 15m. */
function secondsOf(duration: string): number {
  const [, count, unit = ''] = /^(\d+)([smh])$/.exec(duration) ?? []
  return Number(count) * ({ s: 1, m: 60, h: 3_600 }[unit] ?? Number.NaN)
}

/** The names of the metrics in an expression: its words but functions, operators and labels. */
function metricsIn(expr: string): string[] {
  const words =
    expr
      .replaceAll(/\{.*?\}|"[^"]*"|\b(\w+ by|on) \(.*?\)/gs, '')
      .match(/\b[a-z][\w:]*\b(?!\()/g) ?? []
  return words.filter((word) => !['and', 'or', 'unless', 'offset'].includes(word))
}

describe('the page Now of the console', () => {
  const own = rules.filter(({ alert }) => alert.startsWith('Payweave'))

  it('the console evaluates every shipped rule but those that only Prometheus can', () => {
    expect([...shown.map(({ alert }) => alert), ...rulesOfPrometheus].toSorted()).toEqual(
      own.map(({ alert }) => alert).toSorted(),
    )
    for (const { alert, annotations } of own) {
      expect(annotations.runbook).toMatch(
        new RegExp(`^docs/runbooks/(processes|stores|events|money)/${runbookOf(alert)}\\.md$`),
      )
    }
  })

  it.each(shown)('the console has the condition of $alert as it is shipped', (one) => {
    const rule = own.find(({ alert }) => alert === one.alert)
    if (rule === undefined) throw new Error('no such rule')
    expect(rule.labels.severity).toBe(one.severity)
    expect(secondsOf(rule.for)).toBe(one.forS)
    for (const { metric, labels = {} } of one.of) {
      expect(rule.expr).toMatch(new RegExp(`\\b${metric}\\b`))
      for (const [name, value] of Object.entries(labels)) {
        const isExpression = value instanceof RegExp
        const text = isExpression ? value.source.replaceAll(/[\^$()]/g, '') : value
        const selected = `${metric}{${name}=${isExpression ? '~' : ''}"${text}"}`
        const quantile = `histogram_quantile(${one.limit},`
        expect(rule.expr).toContain(name === 'le' ? quantile : selected)
      }
    }
    const isRate = rule.expr.includes('rate(')
    const bound = one.of[0]?.labels?.['le']
    const isPerSecond = isRate && one.as === 'growth'
    const most = bound ?? (isPerSecond ? one.limit / (one.overS ?? 0) : one.limit)
    const limit = one.is === 'below' && bound === undefined ? '== 0' : `> ${most}`
    expect(rule.expr.replace('366 * 86400', String(366 * 86_400))).toContain(limit)
    expect(rule.expr.includes('time() -')).toBe(one.as === 'age')
    const grows = one.as === 'growth' || one.as === 'share'
    expect(isRate || rule.expr.includes('increase(')).toBe(grows)
    expect(rule.expr).toContain(one.whole?.metric.replace(/_count$/, '_') ?? '')
    expect(rule.expr.includes('max_over_time(')).toBe(one.as === 'fall')
    expect(rule.expr).not.toContain('min_over_time(')
    expect(rule.expr.includes('count by (')).toBe(one.as === 'kinds')
    const ranges = [...rule.expr.matchAll(/\[(\d+[smh])\]/g)].map(([, range = '']) => range)
    const looksBack = ['growth', 'share', 'fall'].includes(one.as ?? '')
    expect(Math.max(0, ...ranges.map(secondsOf))).toBe(looksBack ? (one.overS ?? 3_600) : 0)
    for (const label of one.by ?? []) expect(rule.expr).toMatch(new RegExp(`by .*\\b${label}\\b`))
  })
})

/** The metrics of exporters that are not ours, by their published lists. */
function metricsOfOthers(): Set<string> {
  const lists = path.join(import.meta.dirname, 'exporters')
  const lines = fs
    .readdirSync(lists)
    .flatMap((file) => fs.readFileSync(path.join(lists, file), 'utf8').split('\n'))
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))
}

describe('alerts and dashboards', () => {
  it('alerts and dashboards ask exporters for metrics that they publish', () => {
    const known = metricsOfOthers()
    const asked = queries.flatMap(
      ({ expr }) =>
        expr.match(/\b(cnpg|gnatsd|jetstream|barman|certmanager|kube|kubelet)_[a-z0-9_]+/g) ?? [],
    )
    // The numbers of /varz are compared with those of a real server, in nats-reload.test.ts.
    expect(asked.filter((name) => !known.has(name) && !name.startsWith('gnatsd_varz_'))).toEqual([])
    expect(new Set(asked).size).toBeGreaterThan(30)
    expect(dashboards.map(({ uid }) => uid).toSorted()).toEqual([
      'payweave',
      'payweave-nats',
      'payweave-postgres',
    ])
  })

  it('alerts and dashboards ask for metrics that exist', () => {
    const known = [
      ...ownMetrics(),
      /^(nodejs_eventloop_lag_p99_seconds|process_cpu_seconds_total|process_resident_memory_bytes)$/,
    ]
    const unknown = queries.flatMap(({ of, expr }) =>
      (expr.match(/\b(payweave|nodejs|process)_[a-z0-9_]+/g) ?? [])
        .map((name) => name.replace(/_(bucket|count|sum)$/, ''))
        .filter((name) => !known.some((metric) => metric.test(name)))
        .map((name) => `${of}: ${name}`),
    )
    expect(unknown).toEqual([])
    expect(queries.length).toBeGreaterThan(40)
  })

  it.each(overlays)('the alerts of %s are about its own namespace', (overlay) => {
    const objects = render(overlay)
    const [namespace] = ofKind(objects, 'Namespace')
    for (const { rules: all } of groupsOf(objects)) {
      const recorded = all.filter((rule) => 'record' in rule)
      expect(recorded.map(({ expr, labels }) => ({ expr, labels }))).toEqual([
        { expr: 'vector(1)', labels: { namespace: namespace?.metadata.name } },
      ])
      // Another group may not be there.
      const asked = all.flatMap(({ expr }) => expr.match(/\bpayweave:\w+/g) ?? [])
      expect(new Set(asked)).toEqual(new Set(recorded.map(({ record }) => record)))
      expect(all.filter(({ expr }) => expr.includes('absent('))).toEqual([])
      const others = all.filter(({ expr }) =>
        metricsIn(expr).some((name) => !/^payweave[_:]/.test(name)),
      )
      expect(others.length).toBeGreaterThan(0)
      expect(
        others.filter(({ expr }) => !/^payweave:|on \(namespace\) payweave:/.test(expr)),
      ).toEqual([])
    }
  })

  it('alerts have a runbook each, which shows the same expression, and no runbook is left over', () => {
    for (const { alert, expr, labels, annotations } of rules) {
      const text = fs.readFileSync(path.join(root, annotations.runbook), 'utf8')
      expect(text).toContain(`# ${alert}\n`)
      expect(text).toContain(`\`\`\`promql\n${expr}\n\`\`\``)
      expect(text).toContain(`Severity \`${labels.severity}\``)
      expect([...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual(sections)
    }
    const files = fs.globSync('docs/runbooks/*/*.md', { cwd: root })
    const wanted = rules.map(({ annotations }) => annotations.runbook)
    expect(files.toSorted()).toEqual(wanted.toSorted())
  })

  it('the alerts about certificates name each certificate of a process, of a connector, of a team, of the toolbox and of NATS', () => {
    const certificates = (objects: Manifest[]) =>
      ofKind(objects, 'Certificate').map(({ metadata }) => metadata.name)
    const names = certificates(manifests)
    expect(names.length).toBeGreaterThan(8)
    const rule = rules.find(({ alert }) => alert === 'PayweaveCertificateExpires')
    const [, watched = ''] = /name=~"([^"]+)"/.exec(rule?.expr ?? '') ?? []
    const added = certificates(render(optional)).filter((name) => !names.includes(name))
    expect(watched.split('|').toSorted()).toEqual(
      [...names, ...added, 'connector-.+', 'team-.+'].toSorted(),
    )
    const counted = rules.find(({ alert }) => alert === 'PayweaveCertificatesNotScraped')
    // An installation has optional parts, and as many connectors and teams as it likes, so these are not counted.
    const [, always] = /name=~"([^"]+)"/.exec(counted?.expr ?? '') ?? []
    expect(always?.split('|').toSorted()).toEqual(names.toSorted())
    expect(counted?.expr).toContain(`) < ${names.length}\n`)
  })

  it('the index of runbooks has every alert', async () => {
    const rows = rules
      .toSorted((one, other) => (one.alert < other.alert ? -1 : 1))
      .map(({ alert, labels, annotations: { summary, runbook } }) => {
        const about = summary.replaceAll(/\{\{.*?\}\}/g, '…').replaceAll('|', '\\|')
        return `| [${alert}](${path.relative('docs/runbooks', runbook)}) | ${labels.severity} | ${about} |`
      })
    const head = `# Runbooks

One page for each alert of \`deploy/k8s\`. \`page\`: clients notice, or money may be wrong, so wake somebody. \`ticket\`: look on the next working day. Made from the
alert rules by \`npx vitest run test/deploy/alerts.test.ts -u\`.

| alert | severity | about |
|---|---|---|
`
    const index = path.join(root, 'docs/runbooks/README.md')
    await expect(`${head}${rows.join('\n')}\n`).toMatchFileSnapshot(index)
  })

  it('the query on a canary counts its own requests, and has no value without any', async (context) => {
    const promtool = await programOrSkip(context, 'promtool', 'prometheus')
    if (promtool === undefined) return
    const page = fs.readFileSync(path.join(root, 'docs/operate/releases.md'), 'utf8')
    const [, block = ''] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? []
    const template = parseAllDocuments(block)
      .map((document) => document.toJS() as Manifest)
      .find(({ kind }) => kind === 'AnalysisTemplate')
    const query = template?.spec.metrics[0].provider.prometheus.query as string
    const requests = (pod: string, status: string, values: string) => ({
      series: `payweave_http_requests_total{namespace="payweave",pod="${pod}",status="${status}"}`,
      values,
    })
    const test = (hash: string, exp_samples: { value: number }[]) => ({
      interval: '1m',
      input_series: [
        requests('gateway-old-a', '200', '0+1000x10'),
        requests('gateway-new-a', '200', '0+95x10'),
        requests('gateway-new-a', '503', '0+5x10'),
        requests('gateway-idle-a', '200', '7x10'),
      ],
      promql_expr_test: [
        { expr: query.replaceAll('{{args.hash}}', hash), eval_time: '9m', exp_samples },
      ],
    })
    const tests = [
      test('new', [{ value: 0.05 }]),
      test('old', [{ value: 0 }]),
      test('idle', []),
      test('none', []),
    ]
    fs.writeFileSync(path.join(folder, 'canary.yaml'), JSON.stringify({ tests }))
    const { stdout } = await run(promtool, ['test', 'rules', 'canary.yaml'], { cwd: folder })
    expect(stdout).toContain('SUCCESS')
  })

  it('Prometheus accepts alerts and dashboards, and each alert fires when it must and only then', async (context) => {
    const promtool = await programOrSkip(context, 'promtool', 'prometheus')
    if (promtool === undefined) return
    const recorded = panels.flatMap(({ targets }, panel) =>
      targets.map(({ expr }, index) => ({ record: `panel:${panel}:${index}`, expr })),
    )
    const dashboardGroup = { name: 'dashboard', rules: recorded }
    fs.writeFileSync(path.join(folder, 'rules.yaml'), JSON.stringify({ groups }))
    fs.writeFileSync(path.join(folder, 'panels.yaml'), JSON.stringify({ groups: [dashboardGroup] }))
    fs.copyFileSync(path.join(import.meta.dirname, 'alerts.yaml'), path.join(folder, 'tests.yaml'))
    const checked = await run(promtool, ['check', 'rules', 'rules.yaml', 'panels.yaml'], {
      cwd: folder,
    })
    // With the one of each group that records its namespace.
    expect(checked.stdout.match(/\d+ rules found/)?.[0]).toBe(
      `${rules.length + groups.length} rules found`,
    )
    const tests = fs.readFileSync(path.join(folder, 'tests.yaml'), 'utf8')
    // One that must be raised and one that must not, for each; then those that need no metrics.
    const tried = [...tests.matchAll(/alertname: (\w+)/g)].map(([, alert]) => alert)
    const raisedByNothing = [
      'PayweavePartsNotScraped',
      'PayweaveConsoleDown',
      'PayweaveNatsServerDown',
      'PayweaveStreamControllerDown',
      'PayweaveLedgerNotChecked',
      'PayweaveCertificatesNotScraped',
      'PayweaveLogNotArchived',
      'PayweaveBackupOld',
      'PayweavePostgresStandbyLost',
      'PayweavePostgresVolumesNotScraped',
      'PayweaveRestoreDrillOld',
    ]
    // By other conditions of their expressions than in the first case.
    const raisedOtherwise = [
      'PayweaveLogNotArchived',
      'PayweaveLogNotArchived',
      'PayweaveLogNotArchived',
    ]
    // Two installations and services of others in one Prometheus.
    const apart = [
      'PayweavePartDown',
      'PayweavePartsNotScraped',
      'PayweaveEventLoopSlow',
      'PayweaveLedgerNotChecked',
      'PayweaveCertificateExpires',
      'PayweaveCertificatesNotScraped',
      'PayweaveLogNotArchived',
      'PayweaveBackupOld',
      'PayweavePostgresStandbyLost',
      'PayweavePostgresVolumeFills',
      'PayweavePostgresVolumesNotScraped',
      'PayweaveRestoreDrillOld',
    ]
    const blocked = ['PayweavePartDown', 'PayweavePartsNotScraped']
    expect(tried).toEqual([
      ...[...rules, ...rules].map(({ alert }) => alert),
      ...raisedByNothing,
      ...raisedOtherwise,
      ...apart,
      ...blocked,
    ])
    const { stdout } = await run(promtool, ['test', 'rules', 'tests.yaml'], { cwd: folder })
    expect(stdout).toContain('SUCCESS')
  }, 120_000)
})
