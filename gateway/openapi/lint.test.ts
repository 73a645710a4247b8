// Lints the documents with Redocly and Spectral, by the rules beside the committed copies. No warning passes.
import fs from 'node:fs'
import path from 'node:path'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import spectralCore from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { contractVersions } from '#core/text/contract-version.ts'
import { routeRows } from '../http/app.ts'
import { openApiDocuments } from './document.ts'

const folder = path.join(import.meta.dirname, '../../docs/openapi')
const documents = openApiDocuments({ rows: routeRows, publicBaseUrl: 'http://127.0.0.1:8080' })
const made = contractVersions.map((version) => ({ version, document: documents[version] }))
const config = await loadConfig({ configPath: path.join(folder, 'redocly.yaml') })
const { rules } = parse(fs.readFileSync(path.join(folder, 'spectral.yaml'), 'utf8')) as {
  rules: Record<string, 'off'>
}

const redocly = async (document: object): Promise<string[]> => {
  const source = JSON.stringify(document)
  const problems = await lintFromString({ source, absoluteRef: 'document.json', config })
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

const spectral = async (document: object): Promise<string[]> => {
  const linter = new spectralCore.Spectral()
  linter.setRuleset(new spectralCore.Ruleset({ extends: [[rulesets.oas, 'all']], rules }))
  const problems = await linter.run(structuredClone(document) as Record<string, unknown>)
  return problems.map(({ code, message, path: at }) => `${code}: ${message} (${at.join('/')})`)
}

describe('the linters of the documents', () => {
  it.each(made)('Redocly finds nothing in the documents ($version)', async ({ document }) => {
    expect(await redocly(document)).toEqual([])
  })

  it.each(made)('Spectral finds nothing in the documents ($version)', async ({ document }) => {
    expect(await spectral(document)).toEqual([])
  })

  it('the linters of the documents find an example that its schema refuses, and an operation without an id', async () => {
    const broken = structuredClone(documents['2026-07-01']) as {
      paths: Record<string, { get: Record<string, unknown> }>
    }
    const operation = broken.paths['/bill_payments/status']?.get ?? {}
    delete operation['operationId']
    operation['parameters'] = [{ name: 'a', in: 'query', schema: { type: 'string' }, example: 1 }]
    expect((await redocly(broken)).join()).toContain('operation-operationId')
    expect((await spectral(broken)).join()).toContain('oas3-valid-media-example')
  })
})
