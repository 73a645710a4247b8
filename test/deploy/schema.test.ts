// Holds every object against the published types of its kind: the values by validators, the keys by the compiler.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  edge,
  jobs,
  type Manifest,
  optional,
  overlays,
  render,
  restored,
  rpcTeam,
} from './kustomize.ts'

const root = path.join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** Packages whose types were made from the definitions of an API group. */
const packages: [RegExp, string][] = [
  [/^monitoring\.coreos\.com\//, '@kubernetes-models/prometheus-operator/'],
  [/^cert-manager\.io\//, '@kubernetes-models/cert-manager/'],
  [/^gateway\.networking\.k8s\.io\//, '@kubernetes-models/gateway-api/'],
  [/^external-secrets\.io\//, '@kubernetes-models/external-secrets/'],
  [/^postgresql\.cnpg\.io\//, '@kubernetes-models/cloudnative-pg/'],
  [/^/, 'kubernetes-models/'],
]

function moduleOf({ apiVersion, kind }: Manifest): string {
  const [, home = ''] = packages.find(([group]) => group.test(apiVersion)) ?? []
  return `${home}${apiVersion}/${kind}`
}

type Model = { validate(): void }

/** What the validators say against an object. */
async function problemsOf(manifest: Manifest): Promise<string[]> {
  const module = (await import(moduleOf(manifest))) as Record<string, new (data: object) => Model>
  const Model = module[manifest.kind]
  if (Model === undefined) return [`no model of ${manifest.apiVersion} ${manifest.kind}`]
  try {
    new Model(manifest).validate()
    return []
  } catch (error) {
    return [`${manifest.kind} ${manifest.metadata.name}: ${String(error)}`]
  }
}

/** What the compiler says about literals of the objects: above all, it refuses keys that no type knows. */
async function complaints(manifests: Manifest[]): Promise<string[]> {
  const lines = manifests.map((manifest, index) => {
    const type = `import('${moduleOf(manifest)}').I${manifest.kind}`
    return `export const m${index}: ${type} = ${JSON.stringify(manifest)}`
  })
  const cache = path.join(root, '.cache')
  await mkdir(cache, { recursive: true })
  const folder = mkdtempSync(path.join(cache, 'manifests-'))
  try {
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
    writeFileSync(path.join(folder, 'manifests.ts'), `${lines.join('\n')}\n`)
    const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, types: [] }
    const resolution = { target: 'es2024', module: 'nodenext', moduleResolution: 'nodenext' }
    writeFileSync(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...resolution } }),
    )
    const tsc = path.join(root, 'node_modules', '.bin', 'tsc')
    await run(tsc, ['-p', folder, '--pretty', 'false'])
    return []
  } catch (error) {
    const { stdout } = error as { stdout?: string }
    if (!stdout) throw error
    return stdout.trim().split('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * No package has types of the backup plugin's object, whose configuration is what a Cluster had for backups before there
 * was a plugin.
 */
function withKnownType(manifest: Manifest): Manifest {
  if (manifest.kind !== 'ObjectStore') return manifest
  const { configuration, ...rest } = manifest['spec']
  expect(Object.keys(rest)).toEqual(['retentionPolicy'])
  const backup = { barmanObjectStore: configuration, ...rest }
  const spec = { instances: 1, storage: { size: '1Gi' }, backup }
  return { ...manifest, apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', spec }
}

const everything = [...overlays, ...jobs, optional, restored, edge, rpcTeam]
  .flatMap((overlay) => render(overlay).map(withKnownType))
  // Of NGINX Gateway Fabric, which publishes no types.
  .filter(({ kind }) => kind !== 'ClientSettingsPolicy' && kind !== 'NginxProxy')

describe('the rendered manifests', () => {
  it('the rendered manifests have values that the API would take', async () => {
    const problems = await Promise.all(everything.map(problemsOf))
    expect(problems.flat()).toEqual([])
  })

  it('the rendered manifests have no key that the API does not know', async () => {
    expect(await complaints(everything)).toEqual([])
  })

  it('the rendered manifests would be refused with a wrong value or an unknown key', async () => {
    const deployment = everything.find(({ kind }) => kind === 'Deployment')
    const wrong = structuredClone(deployment) as Manifest
    wrong.spec.template.spec.containers[0].readinesProbe = {}
    expect((await complaints([wrong])).join('\n')).toContain('readinesProbe')
    delete wrong.spec.template.spec.containers[0].readinesProbe
    wrong.spec.template.spec.terminationGracePeriodSeconds = 'soon'
    expect(await problemsOf(wrong)).toHaveLength(1)
  })
})
