// Looks whether ports are free before anything is started; it holds none of them.
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from './launch-error.ts'

/** A port that a part is going to listen on, and the setting that moves it. */
export type WantedPort = { part: string; port: number; setting: string }

/** Throws one error that names every taken port, its part and its setting, after waiting so long. */
export async function requireFreePorts(wanted: WantedPort[], patienceMs: number): Promise<void> {
  const untilMs = Date.now() + patienceMs
  for (;;) {
    const free = await Promise.all(wanted.map(({ port }) => isFree(port)))
    const taken = wanted.filter((_, index) => !free[index])
    if (taken.length === 0) return
    if (Date.now() >= untilMs) {
      const lines = taken.map(
        ({ part, port, setting }) => `port ${port} (${part}) is in use; set ${setting} to another`,
      )
      throw new LaunchError(lines.join('\n'))
    }
    await sleep(100)
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else if (error.code === 'EACCES') reject(new LaunchError(`port ${port} needs more rights`))
      else reject(error)
    })
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
