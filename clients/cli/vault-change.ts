// Changes an installation's folder of secrets and regenerates its manifests.
import { manifestFile, writeManifests } from '../../deploy/bootstrap/manifests.ts'
import { openVault, type Vault } from '../../deploy/bootstrap/vault.ts'
import type { CommandContext } from './command.ts'
import { UsageError } from './usage-error.ts'

/** Options of every command that changes the folder. */
export const outOptions = {
  out: 'folder of the installation\u2019s secrets; protect it and keep a copy',
  namespace: 'namespace in the Kubernetes manifests',
} as const

/** Their options without a value. */
export const outFlags = {
  kubernetes: `also writes them as Kubernetes Secrets, to <out>/${manifestFile}`,
} as const

/**
 * Opens the folder of secrets, changes it, and records its files, also when the change fails half-way. Manifests are
 * written if asked for, or if there are some. Rejects with a UsageError without `--out` or for a bad namespace, with a
 * VaultError for a folder that cannot be used, and with what `change` throws.
 */
export async function changeVault(
  { options, flags }: Pick<CommandContext, 'options' | 'flags'>,
  change: (vault: Vault) => void | Promise<void>,
): Promise<Vault> {
  const { out, namespace } = options
  if (out === undefined) throw new UsageError('--out is missing')
  if (namespace !== undefined && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new UsageError('--namespace must be a valid name of a namespace')
  }
  const vault = openVault(out)
  try {
    await change(vault)
  } finally {
    if (flags.has('kubernetes') || vault.has(manifestFile)) {
      writeManifests(vault, namespace ?? namespaceBefore(vault))
    }
    vault.close()
  }
  return vault
}

/** The namespace of the existing manifests, which a change of one secret keeps. */
function namespaceBefore(vault: Vault): string | undefined {
  if (!vault.has(manifestFile)) return undefined
  return /^ {2}namespace: (\S+)$/m.exec(vault.read(manifestFile))?.[1]
}
