// Checks whether ports are free before anything is started; does not reserve them.
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from './launch-error.ts'
import { portHolders } from './port-holders.ts'

/** A port that a part is going to listen on, on 127.0.0.1 if no address is given, and the setting that moves it. */
export type WantedPort = { part: string; port: number; setting: string; address?: string }

/**
 * Waits up to `patienceMs` for the ports to become free, then throws one error with a line for each setting: the taken ports
 * with their parts, the process that listens on them, if known, and that the setting moves them.
 */
export async function requireFreePorts(wanted: WantedPort[], patienceMs: number): Promise<void> {
  const untilMs = Date.now() + patienceMs
  for (;;) {
    const free = await Promise.all(wanted.map(({ port, address }) => isFree(port, address)))
    const taken = wanted.filter((_, index) => !free[index])
    if (taken.length === 0) return
    if (Date.now() >= untilMs) {
      const bySetting = Map.groupBy(taken, ({ setting }) => setting)
      const holders = portHolders(taken.map(({ port }) => port))
      const lines = [...bySetting].map(([setting, ports]) => takenLine(setting, ports, holders))
      throw new LaunchError(lines.join('\n'))
    }
    await sleep(100)
  }
}

function takenLine(
  setting: string,
  taken: readonly WantedPort[],
  holders: ReadonlyMap<number, string>,
): string {
  const ports = taken.map(({ port, part }) => `${port} (${part})`).join(', ')
  const known = new Set(taken.flatMap(({ port }) => holders.get(port) ?? []))
  const by = known.size === 0 ? '' : ` by ${[...known].join(', ')}`
  const which = taken.length === 1 ? `port ${ports} is` : `ports ${ports} are`
  return `${which} in use${by}; set ${setting} to another`
}

function isFree(port: number, address = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else if (error.code === 'EACCES') reject(new LaunchError(`port ${port} needs more rights`))
      else reject(error)
    })
    server.listen(port, address, () => server.close(() => resolve(true)))
  })
}
