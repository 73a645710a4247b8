// Renders the chart's templates by the engine that Helm uses too, Go's text/template: kubectl has it. It judges nothing.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { parse, parseAllDocuments } from 'yaml'
import type { Manifest } from '../kustomize.ts'
import { chartRoot, committedTemplates } from './chart.ts'

type Values = { [name: string]: unknown }

/** What Helm says of a release to templates. */
export const release = {
  Name: 'payweave',
  Namespace: 'payweave',
  IsInstall: true,
  IsUpgrade: false,
}

const chartFile = (name: string) => readFileSync(path.join(chartRoot, name), 'utf8')
export const defaults = parse(chartFile('values.yaml')) as Values
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
addFormats.default(ajv)
const validate = ajv.compile(JSON.parse(chartFile('values.schema.json')) as object)

/** The defaults with values of an operator, which replace all but maps. */
export function merged(own: Values, below: Values = defaults): Values {
  const both = Object.entries(own).map(([name, value]) => {
    const known = below[name]
    return [name, isMap(value) && isMap(known) ? merged(value, known) : value] as const
  })
  return { ...below, ...Object.fromEntries(both) }
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What the schema says against values; Helm refuses them then. */
export function complaints(values: Values): string[] {
  validate(values)
  return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
}

/**
 * The objects that an installation with these values has, and the text that Helm prints at its end.
 *
 * kubectl renders its own configuration by a template; what Helm's templates get is an extension of that configuration.
 * A missing value is an error, which Helm would let pass.
 */
export function renderChart(
  kubectl: string,
  own: Values = {},
  of = release,
): { manifests: Manifest[]; notes: string } {
  const values = merged(own)
  const refused = complaints(values)
  if (refused.length > 0) throw new Error(refused.join('\n'))
  const Chart = {
    Name: 'payweave',
    AppVersion: parse(chartFile('Chart.yaml')).appVersion as string,
  }
  const separator = '\n=== next template\n'
  const files = [...committedTemplates()]
  const defined = files.map(([name, text]) =>
    name.endsWith('.tpl') ? text : `{{ define "${name}" }}${text}{{ end }}`,
  )
  const rendered = files.filter(([name]) => !name.endsWith('.tpl')).map(([name]) => name)
  const calls = rendered.map((name) => `{{ template "${name}" (index .extensions 0).extension }}`)
  const extension = { Values: values, Release: of, Chart }
  const folder = mkdtempSync(path.join(tmpdir(), 'chart-'))
  try {
    const configuration = path.join(folder, 'configuration.json')
    const extensions = [{ name: 'chart', extension }]
    writeFileSync(configuration, JSON.stringify({ apiVersion: 'v1', kind: 'Config', extensions }))
    const file = path.join(folder, 'template')
    writeFileSync(file, `${defined.join('')}${calls.join(separator)}`)
    const view = ['config', 'view', '--raw', '--allow-missing-template-keys=false']
    const output = ['-o', `go-template-file=${file}`, '--kubeconfig', configuration]
    const options = { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: 'pipe' } as const
    const texts = execFileSync(kubectl, [...view, ...output], options).split(separator)
    const notes = texts[rendered.indexOf('NOTES.txt')] ?? ''
    const manifests = texts.filter((text) => text !== notes).flatMap(objectsOf)
    return { manifests, notes }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function objectsOf(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0]
      return document.toJS() as Manifest | null
    })
    .filter((manifest) => manifest !== null)
}
