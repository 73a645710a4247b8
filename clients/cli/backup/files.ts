// Copies files with their checksums, and compares them with those of a manifest.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { CommandContext } from '../command.ts'
import { type BackupFile, bytesOf, type Manifest } from './manifest.ts'

const chunkBytes = 1_048_576

/** Shows the share of all bytes that was read, and ends the work when the command is stopped. */
export type Meter = { read(bytes: number): void; stop(): void }

/** Opens the progress bar of a copy or a comparison. `read` throws an Error once the command was stopped. */
export function openMeter(
  { progress, stopping }: CommandContext,
  words: string,
  allBytes: number,
): Meter {
  const bar = progress(`${words} MiB`)
  let done = 0
  return {
    read(bytes) {
      if (stopping.aborted) throw new Error('stopped')
      done += bytes
      bar.update(Math.round(done / chunkBytes), done / Math.max(1, allBytes))
    },
    stop: () => bar.stop(),
  }
}

/**
 * Reads a file up to its present size, and writes it to a new file, if one is given. Resolves to its size and checksum; to
 * undefined when there is no such file. Rejects with the system's error, and as the meter throws.
 */
export async function copyFile(
  from: string,
  to: string | undefined,
  meter: Meter,
): Promise<Omit<BackupFile, 'path'> | undefined> {
  const source = await fs.open(from, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (source === undefined) return undefined
  const target = to === undefined ? undefined : await fs.open(to, 'wx', 0o600)
  try {
    const { size } = await source.stat()
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, size)))
    let bytes = 0
    while (bytes < size) {
      const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - bytes))
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      hash.update(chunk)
      await target?.writeFile(chunk)
      bytes += bytesRead
      meter.read(bytesRead)
    }
    return { bytes, sha256: hash.digest('hex') }
  } finally {
    await source.close()
    await target?.close()
  }
}

/**
 * Reads every file of a backup, and writes it to the path that `targetOf` returns. Resolves to the names of those that are missing or differ
 * from the manifest. Rejects as `copyFile` does.
 */
export async function compareFiles(
  context: CommandContext,
  folder: string,
  manifest: Manifest,
  targetOf?: (file: string) => string,
): Promise<string[]> {
  const meter = openMeter(context, targetOf === undefined ? 'checked' : 'copied', bytesOf(manifest))
  const damaged: string[] = []
  try {
    for (const { path: name, bytes, sha256 } of manifest.files) {
      const found = await copyFile(path.join(folder, name), targetOf?.(name), meter)
      if (found?.bytes !== bytes || found.sha256 !== sha256) damaged.push(name)
    }
  } finally {
    meter.stop()
  }
  return damaged
}

/** Waits until all files of a folder's file system are on the disk. Rejects when the program `sync` fails. */
export async function syncFolder(folder: string): Promise<void> {
  await promisify(execFile)('sync', ['-f', folder])
}

/** Removes what is in a folder, and leaves it. Rejects with the system's error. */
export async function emptyFolder(folder: string): Promise<void> {
  for (const name of await fs.readdir(folder)) {
    await fs.rm(path.join(folder, name), { recursive: true, force: true })
  }
}

/** Whether a folder does not exist yet, or is empty. Rejects with the system's error. */
export async function isFree(folder: string): Promise<boolean> {
  const names = await fs.readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.length === 0
}
