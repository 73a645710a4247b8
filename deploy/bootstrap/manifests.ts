// Writes the secrets of an installation as Kubernetes manifests.
import type { Vault } from './vault.ts'

export const manifestFile = 'kubernetes/secrets.yaml'

/** Folders of the vault that no pod reads. */
const notForPods = new Set([
  'operator',
  'bearers',
  'rotation',
  'kubernetes',
  'institutions',
  'nats-route',
])
const owner = 'postgres-owner'
const types: Record<string, string> = { [owner]: 'kubernetes.io/basic-auth' }
/** CloudNativePG gives the owner a changed password at once. */
const labels: Record<string, string> = { [owner]: ', cnpg.io/reload: "true"' }

/** One Secret for each folder, its keys the files in it. */
export function writeManifests(vault: Vault, namespace: string | undefined): void {
  const names = new Set(vault.list().map((file) => file.split('/')[0] ?? ''))
  const documents = [...names]
    .filter((name) => !notForPods.has(name))
    .map((name) => manifestOf(vault, name, namespace))
  vault.put(manifestFile, documents.join('---\n'))
}

function manifestOf(vault: Vault, name: string, namespace: string | undefined): string {
  const data = vault.list(name).map((file) => {
    const content = Buffer.from(vault.read(file)).toString('base64')
    return `  ${file.slice(name.length + 1)}: ${content}`
  })
  return [
    'apiVersion: v1',
    'kind: Secret',
    'metadata:',
    `  name: ${name}`,
    ...(namespace === undefined ? [] : [`  namespace: ${namespace}`]),
    `  labels: { app.kubernetes.io/part-of: payweave${labels[name] ?? ''} }`,
    `type: ${types[name] ?? 'Opaque'}`,
    'data:',
    ...data,
    '',
  ].join('\n')
}
