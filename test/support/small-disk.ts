// A small disk for tests that fill it: a tmpfs, where the one who tests may mount it. It must not know what is stored there.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/** A mounted disk. */
export type SmallDisk = {
  folder: string
  /** Takes all that is free. */
  fill(): void
  /** Gives it back. */
  clear(): void
  /** Takes the disk away; what still uses it keeps it until its end. */
  remove(): void
}

const chunkBytes = 1024 * 1024

/** Mounts a disk on an empty folder. Answers why not, where it cannot be mounted. */
export function mountSmallDisk(folder: string, mebibytes: number): SmallDisk | string {
  const options = ['-t', 'tmpfs', '-o', `mode=0711,size=${mebibytes}m`, 'tmpfs', folder]
  const { status, stderr, error } = spawnSync('mount', options, { encoding: 'utf8' })
  if (status !== 0) return stderr?.trim() || String(error)
  // Reads from us until we are gone: no disk stays when a test run is killed.
  const watchdog = spawn('/bin/sh', ['-c', 'read -r folder; read -r _; umount -l "$folder"'], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.stdin.write(`${folder}\n`)
  const filler = path.join(folder, 'filler')
  return {
    folder,
    fill: () => fill(filler),
    clear: () => fs.rmSync(filler, { force: true }),
    remove() {
      watchdog.kill('SIGKILL')
      const unmounted = spawnSync('umount', ['-l', folder], { encoding: 'utf8' })
      if (unmounted.status !== 0) throw new Error(unmounted.stderr)
      fs.rmdirSync(folder)
    },
  }
}

function fill(file: string): void {
  const chunk = Buffer.alloc(chunkBytes)
  const descriptor = fs.openSync(file, 'a')
  try {
    // The last chunk is written in part, and after it nothing.
    for (;;) fs.writeSync(descriptor, chunk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    fs.closeSync(descriptor)
  }
}
