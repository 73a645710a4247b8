// Starts further processes beside a running system: replicas of its parts, and connectors.
import fs from 'node:fs'
import path from 'node:path'
import { spawnTied, type TiedProcess } from '../../deploy/local/process/tied-process.ts'
import { eventually } from './eventually.ts'
import type { SharedMesh } from './mesh.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** The settings of a part of a system that runs. */
export function environmentOf(mesh: SharedMesh, part: string): Record<string, string> {
  const text = fs.readFileSync(`/proc/${mesh.pid(part)}/environ`, 'utf8')
  // Its channel to the launcher is its own.
  const entries = text
    .split('\0')
    .filter((entry) => entry !== '' && !entry.startsWith('NODE_CHANNEL_'))
  return Object.fromEntries(entries.map((entry) => entry.split(/=(.*)/s).slice(0, 2)))
}

/** Starts a script with the settings of a part, except those that are given, and waits until it is ready at its ADMIN_PORT. */
export async function startAlike(
  mesh: SharedMesh,
  part: string,
  { script, ...changed }: { script: string; ADMIN_PORT: string } & Record<string, string>,
): Promise<TiedProcess> {
  const log = fs.openSync(path.join(mesh.dataDir, 'logs', `${part}-2.log`), 'a')
  const running = await spawnTied({
    command: [process.execPath, path.join(root, script)],
    deathSignal: 'TERM',
    cwd: mesh.dataDir,
    env: { ...environmentOf(mesh, part), ...changed },
    stdio: ['ignore', log, log],
  })
  fs.closeSync(log)
  await eventually(async () => {
    if (!running.alive()) return
    const { status } = await fetch(`http://127.0.0.1:${changed['ADMIN_PORT']}/readyz`)
    if (status !== 200) throw new Error(`${part} is not ready: ${status}`)
  }, 60_000)
  if (!running.alive()) throw new Error(`${part} ended, see ${part}-2.log`)
  return running
}
